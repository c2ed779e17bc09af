// SPDX-License-Identifier: Apache-2.0
// Prefetches into the L2, and the emission of the prefetch rows. A thread a box or chunk: nothing
// is waited for, since done means issued.
#include "kernels/emit.cuh"
#include "kernels/prefetch/prefetch.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/tma.cuh"

namespace tw {

__device__ __forceinline__ void prefetch_boxes(const PrefetchBoxArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kPrefetchThreads;
  for (u64 tile = static_cast<u64>(threadIdx.x) * gridDim.x + blockIdx.x; tile < args.tiles;
       tile += step) {
    const u64 y = tile / args.tiles_x;
    const u64 x = tile - y * args.tiles_x;
    ptx::prefetch_2d_hint(&args.map, static_cast<i32>(x * args.box[0]),
                          static_cast<i32>(y * args.box[1]), args.policy);
  }
}

__device__ __forceinline__ void prefetch_rows(const PrefetchRowArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kPrefetchThreads;
  const u64 items = args.rows * args.chunks;
  for (u64 item = static_cast<u64>(threadIdx.x) * gridDim.x + blockIdx.x; item < items;
       item += step) {
    const u64 row = item / args.chunks;
    const u32 chunk = static_cast<u32>(item - row * args.chunks);
    const u64 address = prefetch_row(args, row);
    const PrefetchChunk part = prefetch_chunk(address, args.row_bytes, args.chunk_bytes, chunk);
    if (part.bytes != 0) ptx::prefetch_bulk_hint(part.from, part.bytes, args.policy);
    if (chunk != 0) continue;
    const u64 end = address + args.row_bytes;
    if (address % 16 != 0) ptx::prefetch_line(address);
    if (end % 16 != 0) ptx::prefetch_line(end - 1);
  }
}

}  // namespace tw

#define TW_PREFETCH_BOXES(feature, shard, symbol)                        \
  TW_EMIT(                                                               \
      feature, shard,                                                    \
      extern "C" __global__ void __launch_bounds__(tw::kPrefetchThreads) \
          symbol(const __grid_constant__ tw::PrefetchBoxArgs args) { tw::prefetch_boxes(args); })
#define TW_PREFETCH_ROWS(feature, shard, symbol)                         \
  TW_EMIT(                                                               \
      feature, shard,                                                    \
      extern "C" __global__ void __launch_bounds__(tw::kPrefetchThreads) \
          symbol(const __grid_constant__ tw::PrefetchRowArgs args) { tw::prefetch_rows(args); })
#include "kernels/prefetch/kernels.inc"
