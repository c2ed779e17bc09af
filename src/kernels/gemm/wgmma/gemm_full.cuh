// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue kernels ("full" in names) on Hopper. They have the pipeline of the basic kernels
// (gemm_basic.cuh), 3D tensor maps for the matrices of a batch, and every epilogue of gemm_full.h.
// Units are numbered matrix by matrix. Each consumer warp stages its own 16 lines of D, so that
// writing them needs no barrier between warps. full_split.cuh has split-K.

#include "kernels/gemm/epilogue/full_general.cuh"
#include "kernels/gemm/wgmma/full_loops.cuh"
#include "kernels/gemm/wgmma/full_split.cuh"

namespace tw {

// Loads this CTA's share of one k block of the operands `which` (kFullEarly bits).
template <class Config, bool kHalves>
__device__ __forceinline__ void full_load_block(const GemmEpilogueArgs& args,
                                                const GemmPipeline<Config>& pipeline,
                                                const GemmProductMaps& maps,
                                                const GemmTileOrigin& tile, i32 k, u32 rank,
                                                u32 which) {
  const GemmSharers<Config> to(rank, Config::kSplit ? ptx::cluster_rank() - rank : 0);
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  if (which & kFullEarlyA)
    full_load_share<!Config::kColumnA, kHalves && Config::kSwapAB, Config::kTileM, Config::kTileK,
                    Config::kClusterN>(args, pipeline.a(), maps.a, barrier, tile.m0, k,
                                       maps.a_index, to.rank_n, to.mask_a);
  if (which & kFullEarlyB)
    full_load_share<!Config::kRowB, kHalves && !Config::kSwapAB, Config::kStageColumnsB,
                    Config::kTileK, Config::kClusterM>(args, pipeline.b(), maps.b, barrier, tile.n0,
                                                       k, maps.b_index, to.rank_m, to.mask_b);
}

// Loads the constant operands of the first stages before the predecessor grids have ended. The plan
// allows it only if the tile does not depend on device memory. Returns the number of k blocks.
template <class Config, bool kHalves>
__device__ __forceinline__ i32 full_load_early(const GemmEpilogueArgs& args,
                                               GemmPipeline<Config> pipeline, u32 rank, i32 unit) {
  if ((args.flags & kFullEarly) == 0 || unit >= args.base.units_m * args.base.units_n * args.batch)
    return 0;
  const GemmTileOrigin tile = full_tile<Config>(args, args.base, unit, rank);
  const GemmProductMaps maps = gemm_product_maps(args, tile.z);
  const GemmSpan span = gemm_span<Config>(args.base.k);
  i32 blocks = 0;
#pragma unroll 1
  for (i32 k = span.begin; k < span.end && blocks < Config::kStages; k += Config::kTileK) {
    ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.base.stage_bytes);
    full_load_block<Config, kHalves>(args, pipeline, maps, tile, k, rank, args.flags & kFullEarly);
    pipeline.advance();
    ++blocks;
  }
  return blocks;
}

// The producer thread. It feeds an SM's tensor cores alone, so its main loop is kept short. If one
// operand of the first k blocks was loaded early, a loop before it loads the other operand.
template <class Config, bool kHalves>
__device__ __forceinline__ void full_produce(const GemmEpilogueArgs& args,
                                             GemmPipeline<Config> pipeline, u32 rank) {
  pipeline.base = ptx::opaque(pipeline.base);
  i32 early = full_load_early<Config, kHalves>(args, pipeline, rank, full_first_unit<Config>());
  ptx::grid_dependency_wait();
  const GemmEffectiveSizes sizes = full_effective_sizes<Config>(args);
  const GemmSpan span = gemm_span<Config>(sizes.k);
  const i32 units = gemm_units(args, sizes);
  for (i32 unit = full_first_unit<Config>(); unit < units; unit += full_unit_step<Config>()) {
    const GemmTileOrigin tile = full_tile<Config>(args, sizes, unit, rank);
    const GemmProductMaps maps = gemm_product_maps(args, tile.z);
    if (args.maps != 0) {
      ptx::tensormap_acquire(maps.a);
      ptx::tensormap_acquire(maps.b);
    }
    i32 k = span.begin;
#pragma unroll 1
    for (; early > 0; --early, k += Config::kTileK) {
      full_load_block<Config, kHalves>(args, pipeline, maps, tile, k, rank,
                                       ~args.flags & (kFullEarlyA | kFullEarlyB));
      pipeline.advance();
    }
#pragma unroll 1
    for (; k < span.end; k += Config::kTileK) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.base.stage_bytes);
      full_load_block<Config, kHalves>(args, pipeline, maps, tile, k, rank,
                                       kFullEarlyA | kFullEarlyB);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(pipeline);
}

// Whether the TMA may write the tile. It may not if device_m cuts the tile off, since D's map does
// not know device_m.
template <class Config>
__device__ __forceinline__ bool full_stores(const GemmEpilogueArgs& args,
                                            const GemmEffectiveSizes& sizes,
                                            const GemmTileOrigin& tile) {
  if ((args.flags & kFullTmaStores) == 0) return false;
  return args.device_m == 0 ||
         (tile.m0 + Config::kTileM <= sizes.m && tile.n0 + Config::kTileN <= sizes.n);
}

// Writes a warp's part of a tile, with any option.
template <class Config>
__device__ __forceinline__ void full_epilogue(float (&d)[Config::kRowBlocks][Config::kAccumulators],
                                              const GemmEpilogueArgs& args, const FullRun& run,
                                              const GemmTileOrigin& tile,
                                              const FullWarp<Config>& warp, bool stores,
                                              u32& slabs_written, u32& largest) {
  const FragmentOut out = full_out(args, tile, warp);
  if (stores && args.maps != 0 && ptx::lane_id() == 0) ptx::tensormap_acquire(out.map);
  full_general<typename Config::In, typename FullWarp<Config>::Slab>(d, args, run, stores, out,
                                                                     slabs_written, largest);
}

// Consumes tiles with any combination of options, by branches.
template <class Config>
__device__ __forceinline__ void full_consume_any(const GemmEpilogueArgs& args,
                                                 const GemmEffectiveSizes& sizes, FullRun run,
                                                 GemmPipeline<Config> pipeline, u32 rank, u32 group,
                                                 u32& largest) {
  const FullWarp<Config> warp = full_warp<Config>(pipeline, group);
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  const i32 units = gemm_units(args, sizes);
  const GemmSpan span = gemm_span<Config>(sizes.k);
  const i32 k_blocks = (span.end - span.begin + Config::kTileK - 1) / Config::kTileK;
  const i32 rows = run.lines;
  u32 slabs_written = 0;
  i32 first = full_first_unit<Config>();
  if (Config::kPingpong) {
    if (group == 1) {
      pipeline.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      first += full_unit_step<Config>();
    }
  }
  float d[Config::kRowBlocks][Config::kAccumulators];
  for (i32 unit = first; unit < units;
       unit += full_unit_step<Config>() * (Config::kPingpong ? 2 : 1)) {
    const GemmTileOrigin tile = full_tile<Config>(args, sizes, unit, rank);
    full_matrix<typename Config::In, typename Config::Out>(args, tile.z, rows, &run);
    if (run.beta != 0.0f)
      full_prefetch<typename Config::Out>(args, run,
                                          tile.m0 + (Config::kPingpong ? 0 : warp.line / 64 * 64),
                                          tile.n0, Config::kRowBlocks * 64, Config::kTileN);
    gemm_take_turn<Config>(group);
    gemm_accumulate<Config>(d, span, pipeline, first_row_block);
    gemm_pass_turn<Config>(group);
    gemm_wait_products<Config>(d);
    if (k_blocks > 0) gemm_release_last<Config>(pipeline);
    if (Config::kPingpong) pipeline.skip(k_blocks);
    full_epilogue<Config>(d, args, run, tile, warp, full_stores<Config>(args, sizes, tile),
                          slabs_written, largest);
  }
}

template <class Config>
__device__ __forceinline__ void full_consume(const GemmEpilogueArgs& args,
                                             GemmPipeline<Config> pipeline, u32 rank, u32 group) {
  ptx::grid_dependency_wait();
  const GemmEffectiveSizes sizes = full_effective_sizes<Config>(args);
  const i32 rows = Config::kSwapAB ? sizes.n : sizes.m;
  const i32 columns = Config::kSwapAB ? sizes.m : sizes.n;
  const FullRun run = full_run(args, rows, args.gate == kGateNone ? columns : args.half);
  u32 largest = 0;
  if constexpr (Config::kSplit) {
    full_consume_split<Config>(args, sizes, run, pipeline, group, largest);
  } else if ((args.flags & kFullTmaStores) && sizes.k > 0 &&
             full_is_chunked<typename Config::Out, Config::kTileN>(args, run)) {
    full_consume_chunked<Config>(args, sizes, run, pipeline, rank, group, largest);
  } else {
    full_consume_any<Config>(args, sizes, run, pipeline, rank, group, largest);
  }
  if (args.flags & kFullTmaStores) full_store_finish();
  ptx::sync_warp();
  full_amax<typename Config::Out>(args, largest);
}

template <class Config>
__device__ __forceinline__ void gemm_full(const GemmEpilogueArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() % Config::kCluster : 0;

  full_begin<Config>(args, pipeline, warp);

  // A split-K factor of 1 is launched without a cluster, so there are no other CTAs to wait for.
  const bool in_cluster = Config::kSplit && ptx::cluster_size() > 1;
  // With the consumers first, nvcc places the producer's code next to what runs before it, so that
  // the producer's loads need not wait for instruction fetches. These may come from memory if
  // weights have displaced the code in the L2.
  if (warp >= 4) {
    if (Config::kConsumers == 2) ptx::set_max_registers_up<232>();
    full_consume<Config>(args, pipeline, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    if (Config::kConsumers == 2) ptx::set_max_registers_down<40>();
    if (warp == 0 && ptx::elect_one()) {
      if (args.gate == kGateHalves)
        full_produce<Config, true>(args, pipeline, rank);
      else
        full_produce<Config, false>(args, pipeline, rank);
    }
    __syncwarp();
    if (in_cluster) ptx::grid_dependency_wait();
    // The cluster barrier of full_consume_split. A cluster has no tile if device_m is small.
    if (in_cluster &&
        full_first_unit<Config>() < gemm_units(args, full_effective_sizes<Config>(args))) {
      ptx::cluster_arrive_relaxed();
      ptx::cluster_wait();
    }
  }
}

}  // namespace tw
