// SPDX-License-Identifier: Apache-2.0
#pragma once
// Consumer loops of the epilogue kernels ("full" in names) for epilogues that work chunk by chunk
// (full_chunks.cuh), one loop for each common combination of options. A launch selects its loop
// once. Between two tiles the warps mostly wait for instruction fetch, and branches that are
// skipped are fetched too, so options that are tested for each tile cost time even if they are off.
// Bias, d_factor and the next tile's position are loaded or computed while a tile's last products
// run.

#include "kernels/gemm/epilogue/full_chunks.cuh"
#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/ptx/basic.cuh"

namespace tw {

template <class Config>
__device__ __forceinline__ GemmEffectiveSizes full_effective_sizes(const GemmEpilogueArgs& args) {
  return gemm_effective_sizes(args, Config::kTileM * static_cast<i32>(Config::kClusterM),
                              Config::kTileN * static_cast<i32>(Config::kClusterN));
}

// A consumer warp's staging memory, which has kStagingSlabs slabs, and the first of its 16 lines of
// D.
template <class Config>
struct FullWarp {
  using Slab = FullSlab<typename Config::Out, static_cast<i32>(Config::kSlab.contiguous)>;
  static constexpr int kStagingSlabs = static_cast<int>(Config::kShared.slabs);
  u32 staging;
  i32 line;  // relative to the tile
};

template <class Config>
__device__ __forceinline__ FullWarp<Config> full_warp(const GemmPipeline<Config>& pipeline,
                                                      u32 group) {
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32) % 4;
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  return {pipeline.base + Config::kShared.d_offset +
              (group * 4 + warp) * FullWarp<Config>::kStagingSlabs * FullWarp<Config>::Slab::kBytes,
          static_cast<i32>(first_row_block * 64 + warp * kGemmStoreLines)};
}

template <class Config>
__device__ __forceinline__ FragmentOut full_out(const GemmEpilogueArgs& args,
                                                const GemmTileOrigin& tile,
                                                const FullWarp<Config>& warp) {
  return {gemm_d_map(args, tile.z), warp.staging, tile.m0 + warp.line,
          args.gate == kGateNone ? tile.n0 : tile.n0 / 2, args.maps != 0 ? 0 : tile.z};
}

// The warps that write a tile together and share a table of bias and d_factor (full_board.cuh).
template <class Config>
struct FullTileWarps {
  static constexpr i32 kThreads = Config::kPingpong ? 128 : 128 * Config::kConsumers;
  static constexpr int kThreadColumns = (Config::kTileN + kThreads - 1) / kThreads;
  u32 table;    // shared address of the table
  u32 thread;   // number of this thread among those of the warps
  u32 barrier;  // named barrier of the warps
};

template <class Config>
__device__ __forceinline__ FullTileWarps<Config> full_tile_warps(
    const GemmPipeline<Config>& pipeline, u32 group) {
  const u32 own = Config::kPingpong ? group : 0;
  return {pipeline.base + Config::kShared.table_offset + own * Config::kTileN * 8,
          (threadIdx.x - 128) % static_cast<u32>(FullTileWarps<Config>::kThreads), 1 + own};
}

/// The epilogue of a warp. Options is a FullOptions.
template <class Config, class Options>
using FullWarpChunks = FullChunks<typename Config::In, typename FullWarp<Config>::Slab, Options,
                                  FullWarp<Config>::kStagingSlabs, Config::kRowBlocks,
                                  Config::kAccumulators, FullTileWarps<Config>::kThreadColumns>;

template <class Config, class Options>
__device__ __forceinline__ void full_loop(const GemmEpilogueArgs& args,
                                          const GemmEffectiveSizes& sizes, FullRun run,
                                          GemmPipeline<Config> pipeline, u32 rank, u32 group,
                                          u32& largest) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  using Slab = typename FullWarp<Config>::Slab;
  constexpr int kStagingSlabs = FullWarp<Config>::kStagingSlabs;
  const FullWarp<Config> warp = full_warp<Config>(pipeline, group);
  const FullTileWarps<Config> tile_warps = full_tile_warps<Config>(pipeline, group);
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  const u32 lane = ptx::lane_id();
  pipeline.base = ptx::opaque(pipeline.base);
  const i32 units = gemm_units(args, sizes);
  const i32 k_blocks = (sizes.k + Config::kTileK - 1) / Config::kTileK;
  const i32 rows = run.lines;
  using Chunks = FullWarpChunks<Config, Options>;
  run.alpha *= Chunks::kFactor;
  const float floor =
      Options::kRunTimeRelu && args.activation == kActRelu ? 0.0f : act::from_bits(0xff800000u);
  u32 slabs_written = 0;
  i32 unit = full_first_unit<Config>();
  if (Config::kPingpong) {
    if (group == 1) {
      pipeline.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      unit += full_unit_step<Config>();
    }
  }
  // The zeros only define d for the compiler. The first product overwrites them.
  float d[Config::kRowBlocks][Config::kAccumulators];
  gemm_clear_accumulators<Config>(d);
  GemmTileOrigin next = full_tile<Config>(args, sizes, unit, rank);
  using TileWarps = FullTileWarps<Config>;
  const auto thread = static_cast<i32>(tile_warps.thread);
  if (Options::kBias && unit < units)
    table_prefetch_bias<Config::kTileN, TileWarps::kThreads>(args, next.n0, thread);
  while (unit < units) {
    const GemmTileOrigin tile = next;
    full_matrix<In, Out>(args, tile.z, rows, &run);
    if (Options::kC) {
      full_load_c_ahead<Slab, kStagingSlabs, Config::kRowBlocks, Config::kAccumulators>(
          args, run, lane, warp.staging, tile.m0 + warp.line, tile.n0, slabs_written);
      if (kStagingSlabs < static_cast<int>(gemm_slabs_of_tile(Config::kTile)))
        full_prefetch<Out>(args, run, tile.m0 + static_cast<i32>(first_row_block) * 64, tile.n0,
                           Config::kRowBlocks * 64, Config::kTileN);
    }
    gemm_take_turn<Config>(group);
    gemm_multiply<Config>(d, {0, sizes.k}, pipeline, first_row_block, 0, nullptr, [] {});
    gemm_pass_turn<Config>(group);
    FullLoaded<Config::kRowBlocks, TileWarps::kThreadColumns> loaded;
    if (Options::kBias)
      table_load<Config::kTileN, TileWarps::kThreads, Options::kExtras>(
          args, run, tile.m0 + warp.line, tile.n0, thread, loaded);
    unit += full_unit_step<Config>() * (Config::kPingpong ? 2 : 1);
    next = full_tile<Config>(args, sizes, unit, rank);
    if (Options::kBias && !Config::kPingpong)
      ptx::named_barrier(tile_warps.barrier, tile_warps.kThreads);
    gemm_wait_products<Config>(d);
    gemm_release_last<Config>(pipeline);
    if (Config::kPingpong) pipeline.skip(k_blocks);
    if (Options::kBias) {
      table_store<In, Config::kTileN, TileWarps::kThreads, Options::kExtras>(
          args, tile_warps.table, thread, loaded, Chunks::kFactor);
      ptx::named_barrier(tile_warps.barrier, tile_warps.kThreads);
    }
    if (Options::kC) {
      ptx::async_copy_wait<0>();
      ptx::sync_warp();
    }
    const FragmentOut out = full_out(args, tile, warp);
    if (args.maps != 0 && lane == 0) ptx::tensormap_acquire(out.map);
    Chunks{args, run, out, loaded, tile_warps.table + lane % 4 * 8, lane, floor, largest}
        .write_tile(d, slabs_written);
  }
}

/// Consumes all tiles of a launch for which full_is_chunked() holds.
template <class Config>
__device__ __forceinline__ void full_consume_chunked(const GemmEpilogueArgs& args,
                                                     const GemmEffectiveSizes& sizes,
                                                     const FullRun& run,
                                                     const GemmPipeline<Config>& pipeline, u32 rank,
                                                     u32 group, u32& largest) {
  constexpr bool kGates = Config::kTileN % 128 == 0;
#define TW_FULL_LOOP(...) \
  full_loop<Config, FullOptions<__VA_ARGS__>>(args, sizes, run, pipeline, rank, group, largest)
  const bool extras = full_has_extras(args);
  if (args.gate == kGateHalves) {
    if constexpr (kGates) TW_FULL_LOOP(kActSilu, true, kGateHalves, false, false);
  } else if (args.gate == kGateInterleaved) {
    if constexpr (kGates && Config::Out::kBytes == 2)
      TW_FULL_LOOP(kActSilu, true, kGateInterleaved, false, false);
  } else if (args.activation == kActGelu) {
    if (extras)
      TW_FULL_LOOP(kActGelu, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActGelu, true, kGateNone, false, false);
  } else if (args.activation == kActGeluTanh) {
    if (extras)
      TW_FULL_LOOP(kActGeluTanh, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActGeluTanh, true, kGateNone, false, false);
  } else if (args.activation == kActSilu) {
    if (extras)
      TW_FULL_LOOP(kActSilu, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActSilu, true, kGateNone, false, false);
  } else if (run.beta != 0.0f) {
    if (extras)
      TW_FULL_LOOP(kActRelu, true, kGateNone, true, true);
    else
      TW_FULL_LOOP(kActRelu, true, kGateNone, true, false);
  } else if (extras) {
    TW_FULL_LOOP(kActRelu, true, kGateNone, false, true);
  } else if (args.activation == kActRelu) {
    if (args.bias_by == kFullNone)
      TW_FULL_LOOP(kActRelu, false, kGateNone, false, false);
    else
      TW_FULL_LOOP(kActRelu, true, kGateNone, false, false);
  } else {
    if (args.bias_by == kFullNone)
      TW_FULL_LOOP(kActIdentity, false, kGateNone, false, false);
    else
      TW_FULL_LOOP(kActIdentity, true, kGateNone, false, false);
  }
#undef TW_FULL_LOOP
}

}  // namespace tw
