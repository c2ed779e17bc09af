// SPDX-License-Identifier: Apache-2.0
#pragma once
// Setup and operand loads of the kernels that take gemm_full.h's arguments: epilogue kernels, for
// which "full" stands in names, and batched kernels.

#include "kernels/gemm/wgmma/full_tiles.cuh"

namespace tw {

// With split-K: the barrier that counts the bytes of accumulators from other CTAs.
template <class Config>
__device__ __forceinline__ u32 full_partials_barrier(const GemmPipeline<Config>& pipeline) {
  return pipeline.empty_barrier(Config::kStages);
}

// Does the same as gemm_load_share() for matrix z. kHalves: the operand has a gate of halves, which
// lie apart, so that a box has at most half of a tile's lines.
template <bool kAlongK, bool kHalves, u32 kLines, u32 kTileK, u32 kSharers>
__device__ __forceinline__ void full_load_share(const GemmEpilogueArgs& args, u32 shared,
                                                const KernelMap* map, u32 barrier, i32 first, i32 k,
                                                i32 z, u32 share, u32 mask) {
  constexpr u32 kPart = gemm_box_extent(kAlongK, kLines, kTileK, kSharers);
  constexpr u32 kBoxes =
      kAlongK && kHalves && kSharers == 1 ? 2 : gemm_boxes_per_cta(kAlongK, kLines, kSharers);
  constexpr bool kSharesAlongK = !kAlongK && kPart < kTileK;
  const u32 line0 = kAlongK ? share * kPart : kSharesAlongK ? 0 : share * kBoxes * 64;
  const u32 k0 = kSharesAlongK ? share * kPart : 0;
#pragma unroll
  for (u32 box = 0; box < kBoxes; ++box) {
    const u32 line = line0 + box * (kAlongK ? kLines / 2 : 64);
    const u32 to = shared + (kAlongK ? line * 128 : line / 64 * (kTileK * 128) + k0 * 128);
    const i32 across = kHalves ? full_line(args, first, static_cast<i32>(line), kLines)
                               : first + static_cast<i32>(line);
    const i32 along = k + static_cast<i32>(k0);
    const i32 x = kAlongK ? along : across;
    const i32 y = kAlongK ? across : along;
    if (kSharers == 1)
      ptx::load_tile(to, map, barrier, x, y, z);
    else
      ptx::load_tile_multicast(to, map, barrier, x, y, z, mask);
  }
}

// Initializes the barriers and prefetches the tensor maps. One thread initializes all barriers:
// with one lane for each, ptxas would unroll the loop into separate code for each lane, which takes
// 1 us. Without a cluster, the other warps wait for the producer warp, which waits for none. CTAs
// of a cluster wait for each other's barriers. The mbarrier fence makes the barriers visible, so
// that relaxed arrivals suffice.
template <class Config>
__device__ __forceinline__ void full_begin(const GemmEpilogueArgs& args,
                                           const GemmPipeline<Config>& pipeline, u32 warp) {
  if (warp == 0) {
    if (ptx::elect_one()) {
#pragma unroll
      for (i32 stage = 0; stage < Config::kStages; ++stage) {
        ptx::mbarrier_init(pipeline.full_barrier(stage), 1);
        ptx::mbarrier_init(pipeline.empty_barrier(stage),
                           Config::kReaders * Config::kMulticastCtas);
      }
      if (Config::kSplit) ptx::mbarrier_init(full_partials_barrier<Config>(pipeline), 1);
      ptx::fence_mbarrier_init();
    }
    ptx::sync_warp();
  } else if (warp == 1 && ptx::elect_one()) {
    ptx::prefetch_map(&args.base.map_a);
    ptx::prefetch_map(&args.base.map_b);
    if (args.flags & kFullTmaStores) ptx::prefetch_map(&args.base.map_d);
  }
  if (Config::kCluster > 1) {
    ptx::sync_block();
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  } else if (warp == 0) {
    ptx::named_barrier_arrive(5, Config::kThreads);
  } else {
    // gemm_prefetch_weights() knows only the basic arguments: one product, without a gate of
    // halves.
    if (Config::kPrefetchesWeights && warp >= 4 && args.batch == 1 && args.maps == 0 &&
        args.gate != kGateHalves)
      gemm_prefetch_weights<Config>(args.base);
    ptx::named_barrier(5, Config::kThreads);
  }
}

}  // namespace tw
