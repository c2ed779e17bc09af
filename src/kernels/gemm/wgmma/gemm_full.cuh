// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue kernels on Hopper: the pipeline of the basic kernels (gemm_basic.cuh) over the
// matrices of a batch, with 3D tensor maps, followed by any epilogue of gemm_full.h. Units are
// numbered matrix by matrix. Each consumer warp stages its own 16 lines of D, so that writing them
// needs no barrier between warps. full_split.cuh has split-K.

#include "kernels/gemm/epilogue/full_general.cuh"
#include "kernels/gemm/wgmma/full_loops.cuh"
#include "kernels/gemm/wgmma/full_split.cuh"

namespace tw {

// Loads this CTA's share of one k block of the operands `which` (kFullEarly bits).
template <class Config, bool kHalves>
__device__ __forceinline__ void full_load_block(const GemmEpilogueArgs& args,
                                                const GemmPipeline<Config>& ring,
                                                const GemmMapsAt& maps, const FullTile& tile, i32 k,
                                                u32 rank, u32 which) {
  const GemmSharers<Config> to(rank, Config::kSplit ? ptx::cluster_rank() - rank : 0);
  const u32 barrier = ring.full_barrier(ring.stage);
  if (which & kFullEarlyA)
    full_load_share<!Config::kColumnA, kHalves && Config::kSwapAB, Config::kTileM, Config::kTileK,
                    Config::kClusterN>(args, ring.a(), maps.a, barrier, tile.m0, k, maps.a_index,
                                       to.rank_n, to.mask_a);
  if (which & kFullEarlyB)
    full_load_share<!Config::kRowB, kHalves && !Config::kSwapAB, Config::kLinesB, Config::kTileK,
                    Config::kClusterM>(args, ring.b(), maps.b, barrier, tile.n0, k, maps.b_index,
                                       to.rank_m, to.mask_b);
}

// Loads the constant operands of the first stages before the predecessor grids have ended. The plan
// allows it only if the tile does not depend on device memory. Returns the number of k blocks.
template <class Config, bool kHalves>
__device__ __forceinline__ i32 full_load_early(const GemmEpilogueArgs& args,
                                               GemmPipeline<Config> ring, u32 rank, i32 unit) {
  if ((args.flags & kFullEarly) == 0 || unit >= args.base.units_m * args.base.units_n * args.batch)
    return 0;
  const FullTile tile = full_tile<Config>(args, args.base, unit, rank);
  const GemmMapsAt maps = gemm_maps_at(args, tile.z);
  const GemmSpan span = gemm_span<Config>(args.base.k);
  i32 blocks = 0;
#pragma unroll 1
  for (i32 k = span.begin; k < span.end && blocks < Config::kStages; k += Config::kTileK) {
    ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.base.stage_bytes);
    full_load_block<Config, kHalves>(args, ring, maps, tile, k, rank, args.flags & kFullEarly);
    ring.advance();
    ++blocks;
  }
  return blocks;
}

// One thread feeds an SM's tensor cores, so its loop is kept short: the other operand of early k
// blocks is loaded in a loop before it.
template <class Config, bool kHalves>
__device__ __forceinline__ void full_produce(const GemmEpilogueArgs& args,
                                             GemmPipeline<Config> ring, u32 rank) {
  ring.base = ptx::kept(ring.base);
  i32 early = full_load_early<Config, kHalves>(args, ring, rank, full_first<Config>());
  ptx::grid_dependency_wait();
  const GemmEffectiveSizes live = full_live<Config>(args);
  const GemmSpan span = gemm_span<Config>(live.k);
  const i32 units = gemm_units(args, live);
  for (i32 unit = full_first<Config>(); unit < units; unit += full_step<Config>()) {
    const FullTile tile = full_tile<Config>(args, live, unit, rank);
    const GemmMapsAt maps = gemm_maps_at(args, tile.z);
    if (args.maps != 0) {
      ptx::tensormap_acquire(maps.a);
      ptx::tensormap_acquire(maps.b);
    }
    i32 k = span.begin;
#pragma unroll 1
    for (; early > 0; --early, k += Config::kTileK) {
      full_load_block<Config, kHalves>(args, ring, maps, tile, k, rank,
                                       ~args.flags & (kFullEarlyA | kFullEarlyB));
      ring.advance();
    }
#pragma unroll 1
    for (; k < span.end; k += Config::kTileK) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.base.stage_bytes);
      full_load_block<Config, kHalves>(args, ring, maps, tile, k, rank, kFullEarlyA | kFullEarlyB);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(ring);
}

// Whether the TMA may write the tile: D's map does not know device_m, at which D may end.
template <class Config>
__device__ __forceinline__ bool full_stores(const GemmEpilogueArgs& args,
                                            const GemmEffectiveSizes& live, const FullTile& tile) {
  if ((args.flags & kFullTmaStores) == 0) return false;
  return args.device_m == 0 ||
         (tile.m0 + Config::kTileM <= live.m && tile.n0 + Config::kTileN <= live.n);
}

// Writes a warp's part of a tile, with any option.
template <class Config>
__device__ __forceinline__ void full_epilogue(float (&d)[Config::kPieces][Config::kAccumulators],
                                              const GemmEpilogueArgs& args, const FullRun& run,
                                              const FullTile& tile, const FullWarp<Config>& warp,
                                              bool stores, u32& turn, u32& largest) {
  const FragmentOut out = full_out(args, tile, warp);
  if (stores && args.maps != 0 && ptx::lane_id() == 0) ptx::tensormap_acquire(out.map);
  full_general<typename Config::In, typename FullWarp<Config>::Slab>(d, args, run, stores, out,
                                                                     turn, largest);
}

// Consumes tiles with any combination of options, by branches.
template <class Config>
__device__ __forceinline__ void full_consume_any(const GemmEpilogueArgs& args,
                                                 const GemmEffectiveSizes& live, FullRun run,
                                                 GemmPipeline<Config> ring, u32 rank, u32 group,
                                                 u32& largest) {
  const FullWarp<Config> warp = full_warp<Config>(ring, group);
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  const i32 units = gemm_units(args, live);
  const GemmSpan span = gemm_span<Config>(live.k);
  const i32 k_blocks = (span.end - span.begin + Config::kTileK - 1) / Config::kTileK;
  const i32 rows = run.lines;
  u32 turn = 0;
  i32 first = full_first<Config>();
  if (Config::kPingpong) {
    if (group == 1) {
      ring.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      first += full_step<Config>();
    }
  }
  float d[Config::kPieces][Config::kAccumulators];
  for (i32 unit = first; unit < units; unit += full_step<Config>() * (Config::kPingpong ? 2 : 1)) {
    const FullTile tile = full_tile<Config>(args, live, unit, rank);
    full_matrix<typename Config::In, typename Config::Out>(args, tile.z, rows, &run);
    if (run.beta != 0.0f)
      full_prefetch<typename Config::Out>(args, run,
                                          tile.m0 + (Config::kPingpong ? 0 : warp.line / 64 * 64),
                                          tile.n0, Config::kPieces * 64, Config::kTileN);
    gemm_take_turn<Config>(group);
    gemm_accumulate<Config>(d, span, ring, first_piece);
    gemm_pass_turn<Config>(group);
    gemm_wait_products<Config>(d);
    if (k_blocks > 0) gemm_release_last<Config>(ring);
    if (Config::kPingpong) ring.skip(k_blocks);
    full_epilogue<Config>(d, args, run, tile, warp, full_stores<Config>(args, live, tile), turn,
                          largest);
  }
}

template <class Config>
__device__ __forceinline__ void full_consume(const GemmEpilogueArgs& args,
                                             GemmPipeline<Config> ring, u32 rank, u32 group) {
  ptx::grid_dependency_wait();
  const GemmEffectiveSizes live = full_live<Config>(args);
  const i32 rows = Config::kSwapAB ? live.n : live.m;
  const i32 columns = Config::kSwapAB ? live.m : live.n;
  const FullRun run = full_run(args, rows, args.gate == kGateNone ? columns : args.half);
  u32 largest = 0;
  if constexpr (Config::kSplit) {
    full_consume_split<Config>(args, live, run, ring, group, largest);
  } else if ((args.flags & kFullTmaStores) && live.k > 0 &&
             full_in_chunks<typename Config::Out, Config::kTileN>(args, run)) {
    full_consume_in_chunks<Config>(args, live, run, ring, rank, group, largest);
  } else {
    full_consume_any<Config>(args, live, run, ring, rank, group, largest);
  }
  if (args.flags & kFullTmaStores) full_store_finish();
  ptx::sync_warp();
  full_amax<typename Config::Out>(args, largest);
}

template <class Config>
__device__ __forceinline__ void gemm_full(const GemmEpilogueArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() % Config::kCluster : 0;

  full_begin<Config>(args, ring, warp);

  // A split-K factor of 1 is launched without a cluster: there is nobody to wait for.
  const bool shares = Config::kSplit && ptx::cluster_size() > 1;
  // In this order nvcc places the producer's code next to what runs before it: loads also wait for
  // instruction fetches, which may go to memory if weights have displaced the code.
  if (warp >= 4) {
    if (Config::kConsumers == 2) ptx::set_max_registers_up<232>();
    full_consume<Config>(args, ring, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    if (Config::kConsumers == 2) ptx::set_max_registers_down<40>();
    if (warp == 0 && ptx::elect_one()) {
      if (args.gate == kGateHalves)
        full_produce<Config, true>(args, ring, rank);
      else
        full_produce<Config, false>(args, ring, rank);
    }
    __syncwarp();
    if (shares) ptx::grid_dependency_wait();
    // The cluster barrier of full_consume_split. A cluster has no tile if device_m is small.
    if (shares && full_first<Config>() < gemm_units(args, full_live<Config>(args))) {
      ptx::cluster_arrive_relaxed();
      ptx::cluster_wait();
    }
  }
}

}  // namespace tw
