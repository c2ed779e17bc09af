// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by TMA boxes: load a box by the source's map, store it by the destination's.
//
// Both maps have the same extents, except that the store map's innermost extent is rounded down to
// a multiple of 16 bytes. Ordinary stores write the rest of each row from the last box along
// dimension 0.

#include "kernels/common/warp_ring.cuh"
#include "kernels/copy/copy.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

template <int kRank>
__device__ __forceinline__ void load_box(u32 shared, const KernelMap* map, u32 barrier,
                                         const i32 (&at)[kRank], u64 policy) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) ptx::load_tile_hint(shared, map, barrier, at[0], at[1], policy);
  if constexpr (kRank == 3) ptx::load_tile_hint(shared, map, barrier, at[0], at[1], at[2], policy);
  if constexpr (kRank == 4)
    ptx::load_tile_hint(shared, map, barrier, at[0], at[1], at[2], at[3], policy);
  if constexpr (kRank == 5)
    ptx::load_tile_hint(shared, map, barrier, at[0], at[1], at[2], at[3], at[4], policy);
}

template <int kRank>
__device__ __forceinline__ void store_box(const KernelMap* map, u32 shared, const i32 (&at)[kRank],
                                          u64 policy) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) ptx::store_tile_hint(map, shared, at[0], at[1], policy);
  if constexpr (kRank == 3) ptx::store_tile_hint(map, shared, at[0], at[1], at[2], policy);
  if constexpr (kRank == 4) ptx::store_tile_hint(map, shared, at[0], at[1], at[2], at[3], policy);
  if constexpr (kRank == 5)
    ptx::store_tile_hint(map, shared, at[0], at[1], at[2], at[3], at[4], policy);
}

template <int kRank>
struct BoxMover {
  const CopyBoxArgs& args;

  __device__ __forceinline__ void place(u64 tile, i32 (&at)[kRank]) const {
    u32 rest = static_cast<u32>(tile);
#pragma unroll
    for (int d = 0; d + 1 < kRank; ++d) {
      const u32 next = rest / args.tile_count[d];
      at[d] = static_cast<i32>((rest - next * args.tile_count[d]) * args.box[d]);
      rest = next;
    }
    at[kRank - 1] = static_cast<i32>(rest * args.box[kRank - 1]);
  }

  __device__ __forceinline__ void load(u64 tile, u32 stage, u32 barrier) const {
    if (ptx::lane_id() != 0) return;
    i32 at[kRank];
    place(tile, at);
    ptx::mbarrier_arrive_expect(barrier, args.box_bytes);
    load_box(stage, &args.src_map, barrier, at, args.src_policy);
  }

  __device__ __forceinline__ void store(u64 tile, u32 stage) const {
    i32 at[kRank];
    place(tile, at);
    if (args.tail_bytes != 0 && static_cast<u32>(at[0]) + args.box[0] >= args.extent[0])
      store_tails(at, stage);
    if (ptx::lane_id() == 0) store_box(&args.dst_map, stage, at, args.dst_policy);
  }

  __device__ __forceinline__ void store_tails(const i32 (&at)[kRank], u32 stage) const {
    u32 rows = 1;
#pragma unroll
    for (int d = 1; d < kRank; ++d) rows *= args.box[d];
    const u32 pitch = args.box[0] * args.element_bytes;
    const u32 from =
        static_cast<u32>(args.tail_from - static_cast<u64>(at[0]) * args.element_bytes);
    for (u32 row = ptx::lane_id(); row < rows; row += 32) {
      u64 to = args.dst + args.tail_from;
      bool inside = true;
      u32 rest = row;
#pragma unroll
      for (int d = 1; d < kRank; ++d) {
        const u32 next = rest / args.box[d];
        const u32 index = static_cast<u32>(at[d]) + rest - next * args.box[d];
        inside = inside && index < args.extent[d];
        to += static_cast<u64>(static_cast<i64>(index) * args.dst_stride[d]);
        rest = next;
      }
      if (!inside) continue;
      for (u32 byte = 0; byte < args.tail_bytes; ++byte)
        ptx::store_unit<1>(to + byte, ptx::shared_load<1>(stage + row * pitch + from + byte));
    }
  }
};

template <int kRank>
__device__ __forceinline__ void copy_boxes(const CopyBoxArgs& args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&args.src_map);
    ptx::prefetch_map(&args.dst_map);
  }
  const WarpPipeline pipeline = make_warp_pipeline(shared, args.stages, args.stage_bytes);
  BoxMover<kRank> mover{args};
  // Adjacent tiles go to adjacent blocks, so that all blocks work on the same region of memory.
  const u64 first = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  run_warp_pipeline(pipeline, mover, first, args.tiles,
                    static_cast<u64>(gridDim.x) * kCopyPipelineWarps);
}

}  // namespace tw
