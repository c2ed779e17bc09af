// SPDX-License-Identifier: Apache-2.0
#pragma once
// Consumer loops of the epilogue kernels for epilogues that work chunk by chunk (full_chunks.cuh),
// one loop for each common combination of options. A launch selects its loop once: the time between
// two tiles is instruction fetch, and code that is jumped over costs as much as code that runs.
// What a tile needs besides accumulators is looked up while its last products run.

#include "kernels/gemm/epilogue/full_chunks.cuh"
#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/ptx/basic.cuh"

namespace tw {

template <class Config>
__device__ __forceinline__ GemmEffectiveSizes full_live(const GemmEpilogueArgs& args) {
  return gemm_live(args, Config::kTileM * static_cast<i32>(Config::kClusterM),
                   Config::kTileN * static_cast<i32>(Config::kClusterN));
}

// A consumer warp's staging memory and the first of its 16 lines of D.
template <class Config>
struct FullWarp {
  using Slab = FullSlab<typename Config::Out, static_cast<i32>(Config::kSlab.contiguous)>;
  static constexpr int kRing = static_cast<int>(Config::kShared.slabs);
  u32 staging;
  i32 line;  // relative to the tile
};

template <class Config>
__device__ __forceinline__ FullWarp<Config> full_warp(const GemmPipeline<Config>& ring, u32 group) {
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32) % 4;
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  return {ring.base + Config::kShared.d_offset +
              (group * 4 + warp) * FullWarp<Config>::kRing * FullWarp<Config>::Slab::kBytes,
          static_cast<i32>(first_piece * 64 + warp * kGemmStoreLines)};
}

template <class Config>
__device__ __forceinline__ FragmentOut full_out(const GemmEpilogueArgs& args, const FullTile& tile,
                                                const FullWarp<Config>& warp) {
  return {gemm_d_map(args, tile.z), warp.staging, tile.m0 + warp.line,
          args.gate == kGateNone ? tile.n0 : tile.n0 / 2, args.maps != 0 ? 0 : tile.z};
}

// The warps that write a tile together and share a table of bias and scale (full_board.cuh).
template <class Config>
struct FullTileWarps {
  static constexpr i32 kThreads = Config::kPingpong ? 128 : 128 * Config::kConsumers;
  static constexpr int kOfThread = (Config::kTileN + kThreads - 1) / kThreads;  // columns
  u32 board, thread, barrier;
};

template <class Config>
__device__ __forceinline__ FullTileWarps<Config> full_party(const GemmPipeline<Config>& ring,
                                                            u32 group) {
  const u32 own = Config::kPingpong ? group : 0;
  return {ring.base + Config::kShared.board + own * Config::kTileN * 8,
          (threadIdx.x - 128) % static_cast<u32>(FullTileWarps<Config>::kThreads), 1 + own};
}

/// The epilogue of a warp; Way is a FullWay.
template <class Config, class Way>
using FullWarpChunks =
    FullChunks<typename Config::In, typename FullWarp<Config>::Slab, Way, FullWarp<Config>::kRing,
               Config::kPieces, Config::kAccumulators, FullTileWarps<Config>::kOfThread>;

template <class Config, class Way>
__device__ __forceinline__ void full_loop(const GemmEpilogueArgs& args,
                                          const GemmEffectiveSizes& live, FullRun run,
                                          GemmPipeline<Config> ring, u32 rank, u32 group,
                                          u32& largest) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  using Slab = typename FullWarp<Config>::Slab;
  constexpr int kRing = FullWarp<Config>::kRing;
  const FullWarp<Config> warp = full_warp<Config>(ring, group);
  const FullTileWarps<Config> party = full_party<Config>(ring, group);
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  const u32 lane = ptx::lane_id();
  ring.base = ptx::kept(ring.base);
  const i32 units = gemm_units(args, live);
  const i32 k_blocks = (live.k + Config::kTileK - 1) / Config::kTileK;
  const i32 rows = run.lines;
  using Chunks = FullWarpChunks<Config, Way>;
  run.alpha *= Chunks::kFactor;
  const float floor =
      Way::kFloor && args.activation == kActRelu ? 0.0f : act::from_bits(0xff800000u);
  u32 turn = 0;
  i32 unit = full_first<Config>();
  if (Config::kPingpong) {
    if (group == 1) {
      ring.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      unit += full_step<Config>();
    }
  }
  // Zeros only so that the compiler sees d defined: the first product overwrites them.
  float d[Config::kPieces][Config::kAccumulators];
  gemm_no_products<Config>(d);
  FullTile next = full_tile<Config>(args, live, unit, rank);
  using Party = FullTileWarps<Config>;
  const auto thread = static_cast<i32>(party.thread);
  if (Way::kBias && unit < units)
    board_prefetch<Config::kTileN, Party::kThreads>(args, next.n0, thread);
  while (unit < units) {
    const FullTile tile = next;
    full_matrix<In, Out>(args, tile.z, rows, &run);
    if (Way::kC) {
      full_ask_c<Slab, kRing, Config::kPieces, Config::kAccumulators>(
          args, run, lane, warp.staging, tile.m0 + warp.line, tile.n0, turn);
      if (kRing < static_cast<int>(gemm_slabs_of_tile(Config::kTile)))
        full_prefetch<Out>(args, run, tile.m0 + static_cast<i32>(first_piece) * 64, tile.n0,
                           Config::kPieces * 64, Config::kTileN);
    }
    gemm_take_turn<Config>(group);
    gemm_multiply<Config>(d, {0, live.k}, ring, first_piece, 0, nullptr, [] {});
    gemm_pass_turn<Config>(group);
    FullLoaded<Config::kPieces, Party::kOfThread> asked;
    if (Way::kBias)
      board_load<Config::kTileN, Party::kThreads, Way::kMore>(args, run, tile.m0 + warp.line,
                                                              tile.n0, thread, asked);
    unit += full_step<Config>() * (Config::kPingpong ? 2 : 1);
    next = full_tile<Config>(args, live, unit, rank);
    if (Way::kBias && !Config::kPingpong) ptx::named_barrier(party.barrier, party.kThreads);
    gemm_wait_products<Config>(d);
    gemm_release_last<Config>(ring);
    if (Config::kPingpong) ring.skip(k_blocks);
    if (Way::kBias) {
      board_store<In, Config::kTileN, Party::kThreads, Way::kMore>(args, party.board, thread, asked,
                                                                   Chunks::kFactor);
      ptx::named_barrier(party.barrier, party.kThreads);
    }
    if (Way::kC) {
      ptx::async_copy_wait<0>();
      ptx::sync_warp();
    }
    const FragmentOut out = full_out(args, tile, warp);
    if (args.maps != 0 && lane == 0) ptx::tensormap_acquire(out.map);
    Chunks{args, run, out, asked, party.board + lane % 4 * 8, lane, floor, largest}.tile(d, turn);
  }
}

/// Consumes all tiles of a launch for which full_in_chunks() holds.
template <class Config>
__device__ __forceinline__ void full_consume_in_chunks(const GemmEpilogueArgs& args,
                                                       const GemmEffectiveSizes& live,
                                                       const FullRun& run,
                                                       const GemmPipeline<Config>& ring, u32 rank,
                                                       u32 group, u32& largest) {
  constexpr bool kGates = Config::kTileN % 128 == 0;
#define TW_FULL_LOOP(...) \
  full_loop<Config, FullWay<__VA_ARGS__>>(args, live, run, ring, rank, group, largest)
  const bool more = full_has_more(args);
  if (args.gate == kGateHalves) {
    if constexpr (kGates) TW_FULL_LOOP(kActSilu, true, kGateHalves, false, false);
  } else if (args.gate == kGateNeighbours) {
    if constexpr (kGates && Config::Out::kBytes == 2)
      TW_FULL_LOOP(kActSilu, true, kGateNeighbours, false, false);
  } else if (args.activation == kActGelu) {
    if (more)
      TW_FULL_LOOP(kActGelu, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActGelu, true, kGateNone, false, false);
  } else if (args.activation == kActGeluTanh) {
    if (more)
      TW_FULL_LOOP(kActGeluTanh, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActGeluTanh, true, kGateNone, false, false);
  } else if (args.activation == kActSilu) {
    if (more)
      TW_FULL_LOOP(kActSilu, true, kGateNone, false, true);
    else
      TW_FULL_LOOP(kActSilu, true, kGateNone, false, false);
  } else if (run.beta != 0.0f) {
    if (more)
      TW_FULL_LOOP(kActRelu, true, kGateNone, true, true);
    else
      TW_FULL_LOOP(kActRelu, true, kGateNone, true, false);
  } else if (more) {
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
