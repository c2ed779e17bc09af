// SPDX-License-Identifier: Apache-2.0
// Kernels that prefetch into L2.
//
// The hardware drops prefetch instructions that exceed the memory bandwidth. They also bring a line
// only to its home half of L2, so half of the SMs later fetch it from the far half. Loads are never
// dropped and leave a copy in the half of the loading SM, but occupy shared memory and a warp until
// they complete.
#include "kernels/common/emit.cuh"
#include "kernels/prefetch/prefetch.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"

namespace tw {

struct alignas(128) LandingSpace {
  unsigned char bytes[kPrefetchBytes];
  u64 barrier[kPrefetchThreads][kPrefetchDepth];
};

/// Target of a thread's loads. Nothing reads the data, so the loads of a block may overwrite each
/// other. Each thread has its own barriers: it waits for a free one per load, and for all in the
/// end.
class Landing {
 public:
  __device__ __forceinline__ explicit Landing(LandingSpace& space)
      : buffer_(ptx::shared_address(space.bytes)),
        barriers_(ptx::shared_address(space.barrier[threadIdx.x])) {
    for (u32 i = 0; i < kPrefetchDepth; ++i) ptx::mbarrier_init(barriers_ + 8 * i, 1);
    ptx::fence_mbarrier_init();
    ptx::sync_warp();  // lanes initialize their barriers in the same instructions
  }

  __device__ __forceinline__ u32 buffer() const { return buffer_; }

  /// Returns the barrier for a load of `bytes`, which the caller then issues.
  __device__ __forceinline__ u32 expect(u32 bytes) {
    if (issued_ >= kPrefetchDepth) wait(issued_ - kPrefetchDepth);
    const u32 barrier = barriers_ + 8 * (issued_++ % kPrefetchDepth);
    ptx::mbarrier_arrive_expect(barrier, bytes);
    return barrier;
  }

  __device__ __forceinline__ void finish() const {
    for (u32 i = issued_ > kPrefetchDepth ? issued_ - kPrefetchDepth : 0; i < issued_; ++i) wait(i);
  }

 private:
  __device__ __forceinline__ void wait(u32 load) const {
    ptx::mbarrier_wait(barriers_ + 8 * (load % kPrefetchDepth), load / kPrefetchDepth % 2);
  }

  u32 buffer_;
  u32 barriers_;
  u32 issued_ = 0;
};

__device__ __forceinline__ void prefetch_boxes(const PrefetchBoxArgs& args) {
  __shared__ LandingSpace space;
  Landing landing(space);
  const u64 step = static_cast<u64>(gridDim.x) * kPrefetchThreads;
  for (u64 tile = static_cast<u64>(threadIdx.x) * gridDim.x + blockIdx.x; tile < args.tiles;
       tile += step) {
    const u64 row = tile / args.tiles_x;
    const auto x = static_cast<i32>((tile - row * args.tiles_x) * args.box[0]);
    const auto y = static_cast<i32>(row * args.box[1]);
    if (args.box_bytes != 0)
      ptx::load_tile_hint(landing.buffer(), &args.map, landing.expect(args.box_bytes), x, y,
                          args.policy);
    else
      ptx::prefetch_tile_hint(&args.map, x, y, args.policy);
  }
  landing.finish();
}

__device__ __forceinline__ void prefetch_rows(const PrefetchRowArgs& args) {
  __shared__ LandingSpace space;
  Landing landing(space);
  const u64 step = static_cast<u64>(gridDim.x) * kPrefetchThreads;
  const u64 items = args.rows * args.chunks;
  for (u64 item = static_cast<u64>(threadIdx.x) * gridDim.x + blockIdx.x; item < items;
       item += step) {
    const u64 row = item / args.chunks;
    const u32 chunk = static_cast<u32>(item - row * args.chunks);
    const u64 address = prefetch_row(args, row);
    const PrefetchChunk part = prefetch_chunk(address, args.row_bytes, args.chunk_bytes, chunk);
    if (part.bytes != 0 && args.loads)
      ptx::load_bulk_hint(landing.buffer(), ptx::global_pointer(part.from), part.bytes,
                          landing.expect(part.bytes), args.policy);
    else if (part.bytes != 0)
      ptx::prefetch_bulk_hint(ptx::global_pointer(part.from), part.bytes, args.policy);
    if (chunk != 0) continue;
    const u64 end = address + args.row_bytes;
    if (address % 16 != 0) ptx::prefetch_line(address);
    if (end % 16 != 0) ptx::prefetch_line(end - 1);
  }
  landing.finish();
}

}  // namespace tw

#define TW_PREFETCH_BOXES(feature, part, symbol)                         \
  TW_EMIT(                                                               \
      feature, part,                                                     \
      extern "C" __global__ void __launch_bounds__(tw::kPrefetchThreads) \
          symbol(const __grid_constant__ tw::PrefetchBoxArgs args) { tw::prefetch_boxes(args); })
#define TW_PREFETCH_ROWS(feature, part, symbol)                          \
  TW_EMIT(                                                               \
      feature, part,                                                     \
      extern "C" __global__ void __launch_bounds__(tw::kPrefetchThreads) \
          symbol(const __grid_constant__ tw::PrefetchRowArgs args) { tw::prefetch_rows(args); })
#include "kernels/prefetch/kernels.inc"
