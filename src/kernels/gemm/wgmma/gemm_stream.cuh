// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stream-K on Hopper: the units after the last complete wave are divided along k among all
// persistent workers, so that all SMs are busy to the end for any number of tiles (gemm_stream.h
// defines units and workers). "full" in names marks code of the epilogue kernels.
//
// A tile has args.width columns, and each consumer warpgroup has 64 of its rows. Most kernels use
// swap-AB: the rows of a tile are columns of the caller's D, and the columns of a tile are tokens.

#include "kernels/gemm/wgmma/stream_join.cuh"
#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/gemm/wgmma/stream_produce.cuh"
#include "kernels/gemm/wgmma/stream_slices.cuh"
#include "kernels/gemm/wgmma/stream_write.cuh"

namespace tw {

// Prefetches a tile's C into the L2. With a gate of halves, the tile has 32 elements of a line in
// each half.
template <class Config>
__device__ __forceinline__ void stream_prefetch_c(const GemmStreamArgs& args, const FullRun& run,
                                                  const GemmTileOrigin& tile, u32 group) {
  using Out = typename Config::Out;
  if (run.beta == 0.0f) return;
  const GemmEpilogueArgs& full = args.full;
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const bool halves = full.gate == kGateHalves;
  const i32 extent = full.gate == kGateNone ? run.extent : 2 * run.extent;
#pragma unroll 1
  for (i32 half = 0; half < (halves ? 2 : 1); ++half)
    full_prefetch<Out>(full, run, tile.n0, halves ? m0 / 2 + half * full.half : m0, args.width,
                       halves ? 32 : 64, extent);
}

// The epilogue arguments for the matrix of a tile.
template <class Config, class Sizes>
__device__ __forceinline__ FullRun stream_run(const GemmStreamArgs& args, const Sizes& sizes,
                                              i32 z) {
  FullRun run =
      full_run(args.full, sizes.n, args.full.gate == kGateNone ? sizes.m : args.full.half);
  full_matrix<typename Config::In, typename Config::Out>(args.full, z, sizes.n, &run);
  return run;
}

// Writes a slice of a tile. The place of the tile and the epilogue arguments are computed here,
// since there are no registers to keep them in before.
template <class Config>
__device__ __forceinline__ void stream_write_slice(float (&d)[Config::kAccumulators],
                                                   const GemmStreamArgs& args, i32 unit,
                                                   const StreamSlice& slice, u32 rank, u32 shared,
                                                   u32 group, u32& largest) {
  const u32 staging = shared + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  typename StreamSizes<Config>::Type sizes = StreamSizes<Config>::read(args);
  const GemmTileOrigin tile = stream_tile<Config>(args, sizes, unit, rank);
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const i32 n0 = tile.n0 + slice.first, end = n0 + slice.columns;
  if constexpr (Config::kFull) {
    FullRun run = stream_run<Config>(args, sizes, tile.z);
    run.lines = min(run.lines, end);
    stream_write_full<Config>(d, args, run, staging, group, m0, n0, largest);
  } else {
    stream_write_basic<Config>(d, args, staging, group, m0, n0, end);
  }
}

template <class Config>
__device__ __forceinline__ void stream_consume(const GemmStreamArgs& args,
                                               GemmPipeline<Config> pipeline, u32 rank, u32 group) {
  ptx::grid_dependency_wait();
  StreamWork<Config> work(args, StreamSizes<Config>::read(args));
  StreamItem item;
  [[maybe_unused]] u32 largest = 0;
  float d[Config::kRowBlocks][Config::kAccumulators];
  while (work.next(&item)) {
    if constexpr (Config::kFull) {
      const auto sizes = StreamSizes<Config>::read(args);
      const GemmTileOrigin tile = stream_tile<Config>(args, sizes, item.unit, rank);
      stream_prefetch_c<Config>(args, stream_run<Config>(args, sizes, tile.z), tile, group);
    }
    const auto worker = [&] { return stream_worker<Config>(args); };
    const i32 divided_unit = item.unit - work.whole_units;
    const i32 slot = divided_unit < 0 ? 0
                                      : gemm_stream_slot(divided_unit, args.padded_k_blocks,
                                                         args.share, worker());
    const StreamPartial<Config> partial(args, worker(), slot, rank);
    stream_accumulate<Config>(d, args, item, partial, pipeline, group);
    StreamSlice slice = {0, args.width};
    if (stream_is_joined<Config>(args)) {
      slice = stream_joined_slice(args);
      // A joined CTA has one item, so it has finished if it has no columns to write.
      if (!stream_reduce_in_cluster<Config>(d[0], args, pipeline)) break;
    } else if (divided_unit >= 0) {
      partial.store(d[0]);
      slice = stream_take_slice<Config>(args, divided_unit, worker(), rank, work.is_finished(),
                                        pipeline.reduction_word());
      if (slice.columns > 0) stream_add_parts<Config>(d[0], args, divided_unit, slice, rank);
    }
    if (slice.columns > 0)
      stream_write_slice<Config>(d[0], args, item.unit, slice, rank, pipeline.base, group, largest);
  }
  if constexpr (Config::kFull) full_amax<typename Config::Out>(args.full, largest);
}

// Initializes the barriers. CTAs of a multicast cluster wait until all of them have done so. Joined
// CTAs only arrive here and wait later (stream_join.cuh).
template <class Config>
__device__ __forceinline__ void stream_begin(const GemmStreamArgs& args,
                                             GemmPipeline<Config>& pipeline, u32 warp, u32 rank) {
  u32 readers = Config::kReaders;
  if constexpr (Config::kAnyCluster) {
    const StreamCluster cluster(args, rank);
    readers *= cluster.multicast_ctas();
    // One warp of each warpgroup releases stages, each of its lanes to another CTA.
    if (warp % 4 == 0 && cluster.shares_loads_with(ptx::lane_id()))
      pipeline.released_base = stream_shares_loads<Config>(args)
                                   ? ptx::cluster_address(pipeline.base, ptx::lane_id())
                                   : pipeline.base;
  }
  if (warp == 0 && ptx::elect_one()) {
    ptx::prefetch_map(&args.full.base.map_a);
    ptx::prefetch_map(&args.full.base.map_b);
    for (i32 stage = 0; stage < args.stages; ++stage) {
      ptx::mbarrier_init(pipeline.full_barrier(stage), 1);
      ptx::mbarrier_init(pipeline.empty_barrier(stage), readers);
    }
    stream_init_cluster_reduction<Config>(args, pipeline);
    ptx::fence_mbarrier_init();
  }
  ptx::sync_block();
  stream_arrive_if_joined<Config>(args);
  if (!stream_shares_loads<Config>(args)) return;
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
}

template <class Config>
__device__ __forceinline__ void stream_kernel(const GemmStreamArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  pipeline.args = &args;
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = stream_rank<Config>(args);
  stream_begin<Config>(args, pipeline, warp, rank);
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<Config::kFull ? 224 : 232>();
    stream_consume<Config>(args, pipeline, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    if (Config::kConsumers > 1) ptx::set_max_registers_down<Config::kFull ? 56 : 40>();
    if (warp == 0 && ptx::elect_one()) {
      if (Config::kFull && args.full.gate == kGateHalves)
        stream_produce<Config, true>(args, pipeline, rank);
      else
        stream_produce<Config, false>(args, pipeline, rank);
    }
    __syncwarp();
    ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
    stream_wait_if_joined<Config>(args);
  }
}

template <class Config>
__device__ __forceinline__ void gemm_stream(const GemmStreamArgs& args) {
  if constexpr (!Config::kFull) {
    if (args.cluster_log != 0) return stream_kernel<GemmAnyCluster<Config>>(args);
  }
  stream_kernel<Config>(args);
}

}  // namespace tw
