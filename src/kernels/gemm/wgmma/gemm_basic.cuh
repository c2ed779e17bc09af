// SPDX-License-Identifier: Apache-2.0
#pragma once
// The basic kernels: D = alpha A B + beta C on Hopper, persistent and warp-specialized.
//
//   warpgroup 0        producer: one thread (for small tiles two that alternate) waits for a free
//                      stage and issues the TMA loads of A and B for one k block
//   warpgroups 1, 2    consumers: multiply from shared memory (wgmma), then write D; a tile of 64
//                      rows has only one
//
// Cooperative kernels: each consumer warpgroup multiplies half of a tile's rows. Ping-pong kernels:
// each takes every other tile and writes it while the other one multiplies. It passes the turn when
// it has issued all products of its tile, so that the tensor cores never interleave two tiles.
// Split-K kernels: the CTAs of a cluster multiply parts of one tile's k, see epilogue/split.cuh.
//
// Pipeline: kStages stages with two barriers each, full (the bytes have landed) and empty (all
// warpgroups that read the stage, in all CTAs that received it, have released it). CTAs of a
// cluster that share B (along m) or A (along n) load a part each and multicast it. The producer
// fills stages for the next tile while consumers write one. A tile's position comes with its first
// stage.
//
// Accumulation chains: for an f32 D a long k is split into chains (gemm_chains), which limits the
// truncation error of the tensor cores. Threads add the chains up in registers if they can hold two
// sets of accumulators (gemm_keeps_chains) or, in gemm_consume_stored, one and a half (gemm_park).
// Otherwise each chain is written like a tile, and all but the first are added to D by the TMA.
// Ping-pong warpgroups alternate chain by chain.
//
// If the TMA writes all of D, C is not read and k > 0, gemm_consume_stored handles the tiles, with
// less code between two of them. A cooperative kernel that can stage half of its D keeps D in
// registers and writes it during the next tile's main loop (epilogue_left).
//
// PDL: every thread waits for the predecessor grids before it accesses global memory. Two accesses
// do not wait: first loads of constant operands, and L2 prefetches (gemm_prefetch_weights), whose
// lines later writes update. The producer triggers the dependent launch after its last load (with
// two loaders, the last but one): earlier, dependent CTAs on free SMs would compete for bandwidth.

#include "kernels/gemm/epilogue/epilogue_stored.cuh"
#include "kernels/gemm/epilogue/split.cuh"
#include "kernels/gemm/wgmma/gemm_turns.cuh"
#include "kernels/ptx/global.cuh"

namespace tw {

// Shared address of a consumer warpgroup's staging slabs.
template <class Config>
__device__ __forceinline__ u32 gemm_staging(const GemmPipeline<Config>& ring, u32 group) {
  return ring.base + Config::kShared.d_offset +
         group * (Config::kShared.slabs * Config::kShared.slab_bytes);
}

// Whether a unit has no partner to alternate chains with: the last of an odd number of units.
template <class Config>
__device__ __forceinline__ bool gemm_has_no_partner(i32 unit, i32 unit_step, i32 units, u32 group) {
  return Config::kAlternatesChains && group == 0 && unit + unit_step / 2 >= units;
}

// Skips the stages of the other warpgroup's chain: the same one for group 0, the next for group 1.
template <class Config>
__device__ __forceinline__ void gemm_skip_other(GemmPipeline<Config>& ring, GemmSpan span,
                                                u32 group, i32 chain, i32 chains, bool alone) {
  if (!Config::kPingpong || alone) return;
  const i32 next = chain + 1 < chains ? chain + 1 : 0;
  ring.skip(gemm_chain_blocks<Config>(span, group == 0 ? chain : next, chains));
}

// Writes a warpgroup's tiles to D with epilogue_stored. If D waits in registers (epilogue_left), it
// is written while the next tile is multiplied.
template <class Config>
struct GemmStored {
  const GemmArgs& args;
  u32 staging, group, first_piece;
  u32 turn = 0;
  u32 due = 0;
  EpilogueLeft<Config> left;  // valid while `due` > 0

  __device__ __forceinline__ GemmStored(const GemmArgs& of, u32 at, u32 own, u32 first)
      : args(of), staging(at), group(own), first_piece(first) {}

  // The main loop calls it once per k block. D goes out in two halves, two k blocks apart, because
  // the second half reuses the slabs and has to wait until the TMA has read the first.
  __device__ __forceinline__ void write_left() {
    if constexpr (epilogue_left<Config>() > 0) {
      if (due == 4)
        epilogue_write_left<Config, 0>(left, args, staging, group);
      else if (due == 2)
        epilogue_write_left<Config, 1>(left, args, staging, group);
      if (due > 0) --due;
    }
  }
  __device__ __forceinline__ void write_all_left() {
    while (due > 0) write_left();
  }
  __device__ __forceinline__ void tile(
      typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators], const GemmTileAt& at) {
    due = epilogue_left<Config>() > 0 ? 4 : 0;
#pragma unroll
    for (i32 piece = 0; piece < Config::kPieces; ++piece)
      gemm_with_floats<Config>(d[piece], [&](auto& sums) {
        epilogue_stored<Config>(sums, args, staging, turn, group,
                                at.m0 + (static_cast<i32>(first_piece) + piece) * 64, at.n0, left);
      });
  }
};

// Consumer loop for launches where epilogue_is_stored() holds.
template <class Config>
__device__ __forceinline__ void gemm_consume_stored(const GemmArgs& args, GemmPipeline<Config> ring,
                                                    u32 group, i32 first_unit) {
  static_assert(!Config::kStoresChains || Config::kKeepsChains || Config::kParksChains,
                "each chain would overwrite D instead of adding to it");
  i32 unit_step = gemm_unit_step<Config>();
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  GemmStored<Config> stored(args, gemm_staging<Config>(ring, group), group, first_piece);
  const i32 units = args.units_m * args.units_n;
  const GemmSpan span = {0, args.k};
  const i32 chains = Config::kStoresChains ? 1 + args.more_chains : 1;
  if (Config::kPingpong) {
    if (group == 1) {
      ring.skip(gemm_chain_blocks<Config>(span, 0, chains));
      gemm_pass_turn<Config>(1);
      first_unit += unit_step;
    }
    unit_step *= 2;
  }
  ptx::grid_dependency_wait();
  typename Config::Sum d[Config::kPieces][Config::kAccumulators];
  [[maybe_unused]] typename Config::Sum kept[Config::kPieces][Config::kAccumulators];
  [[maybe_unused]] u32 parked[Config::kPieces][Config::kAccumulators / 2];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    GemmTileAt tile;
    const bool alone = gemm_has_no_partner<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      if (chain == 0 || !alone) gemm_take_turn<Config>(group);
      gemm_multiply<Config>(d, gemm_chain_of<Config>(span, chain, chains, group), ring, first_piece,
                            Config::kParksChains && chain > 0, &tile, [&] { stored.write_left(); });
      if (!alone) gemm_pass_turn<Config>(group);
      stored.write_all_left();
      gemm_wait_products<Config>(d);
      gemm_release_last<Config>(ring);
      gemm_skip_other<Config>(ring, span, group, chain, chains, alone);
      if constexpr (Config::kKeepsChains && Config::kStoresChains)
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
      if constexpr (Config::kParksChains && Config::kStoresChains)
        if (chains > 1) gemm_park<Config>(d, parked, chain, chains);
      if ((Config::kKeepsChains || Config::kParksChains) && Config::kStoresChains &&
          chain + 1 < chains)
        continue;
      stored.tile(d, tile);
    }
  }
  stored.write_all_left();
  epilogue_finish();
}

// Prefetches a warpgroup's part of C into the L2: one address every 128 bytes, and each line's last
// element, since a line need not begin at a 128-byte boundary.
template <class Config>
__device__ __forceinline__ void gemm_prefetch_c(const GemmArgs& args, i32 m0, i32 n0) {
  using Out = typename Config::Out;
  constexpr i32 kTogether = 128 / static_cast<i32>(Out::kBytes);
  constexpr i32 kRows = Config::kPieces * 64;
  constexpr i32 kAlong = Config::kSwapAB ? kRows : Config::kTileN;
  constexpr i32 kLines = Config::kSwapAB ? Config::kTileN : kRows;
  constexpr i32 kAcross = (kAlong + kTogether - 1) / kTogether + 1;
  const i32 line0 = Config::kSwapAB ? n0 : m0, at0 = Config::kSwapAB ? m0 : n0;
  const i32 lines = (Config::kSwapAB ? args.n : args.m) - line0;
  const i32 rest = (Config::kSwapAB ? args.m : args.n) - at0;
  const i32 last = (rest < kAlong ? rest : kAlong) - 1;
#pragma unroll 1
  for (auto i = static_cast<i32>(threadIdx.x % 128); i < kLines * kAcross; i += 128) {
    const i32 line = i / kAcross, at = i % kAcross * kTogether;
    if (line < lines && last >= 0)
      ptx::prefetch_line(args.c + static_cast<u64>(((line0 + line) * args.c_stride_m + at0 +
                                                    (at < last ? at : last)) *
                                                   static_cast<i64>(Out::kBytes)));
  }
}

template <class Config>
__device__ __forceinline__ void gemm_consume(const GemmArgs& args, GemmPipeline<Config> ring,
                                             u32 rank, u32 group, i32 first_unit) {
  i32 unit_step = gemm_unit_step<Config>();
  const u32 staging = gemm_staging<Config>(ring, group);
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  const i32 units = args.units_m * args.units_n;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 chains = Config::kChains ? 1 + args.more_chains : 1;
  if (Config::kPingpong) {
    if (group == 1) {
      ring.skip(gemm_chain_blocks<Config>(span, 0, chains));
      gemm_pass_turn<Config>(1);
      first_unit += unit_step;
    }
    unit_step *= 2;
  }
  u32 turn = 0;
  ptx::grid_dependency_wait();  // also without loads: C is read and D written
  typename Config::Sum d[Config::kPieces][Config::kAccumulators];
  [[maybe_unused]] typename Config::Sum kept[Config::kPieces][Config::kAccumulators];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    const GemmTileAt tile = gemm_tile_at<Config>(args, unit, rank);
    if (args.beta != 0.0f && !args.adds)
      gemm_prefetch_c<Config>(args, tile.m0 + static_cast<i32>(first_piece) * 64, tile.n0);
    const bool alone = gemm_has_no_partner<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      const GemmSpan of = gemm_chain<Config>(span, chain, chains);
      if (chain == 0 || !alone) gemm_take_turn<Config>(group);
      gemm_accumulate<Config>(d, of, ring, first_piece);
      if (!alone) gemm_pass_turn<Config>(group);
      gemm_wait_products<Config>(d);
      if (of.end > of.begin) gemm_release_last<Config>(ring);
      gemm_skip_other<Config>(ring, span, group, chain, chains, alone);
      if constexpr (Config::kKeepsChains) {
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
        if (chain + 1 < chains) continue;
      }
#pragma unroll
      for (i32 piece = 0; piece < Config::kPieces; ++piece)
        gemm_with_floats<Config>(d[piece], [&](auto& sums) {
          epilogue<Config>(sums, args, staging, turn, group,
                           tile.m0 + (static_cast<i32>(first_piece) + piece) * 64, tile.n0,
                           Config::kChains && !Config::kKeepsChains && chain > 0);
        });
    }
  }
  epilogue_finish();
}

// Initializes the barriers of stages `from` to `to` - 1, and with stage 0 the split-K barrier.
template <class Config>
__device__ __forceinline__ void gemm_init_barriers(const GemmPipeline<Config>& ring, i32 from,
                                                   i32 to) {
#pragma unroll
  for (i32 stage = from; stage < to; ++stage) {
    ptx::mbarrier_init(ring.full_barrier(stage), 1);
    ptx::mbarrier_init(ring.empty_barrier(stage), Config::kReaders * Config::kMulticastCtas);
  }
  if (Config::kSplit && from == 0) ptx::mbarrier_init(ring.parts_barrier(), 1);
  ptx::fence_mbarrier_init();
}

// All threads of a split-K cluster meet before accumulators are sent. If those overwrite the
// stages, every CTA must have read its own; else it is enough that every CTA has started.
template <class Config>
__device__ __forceinline__ void gemm_sync_split() {
  if (!Config::kSplit) return;
  if (!Config::kRoom) ptx::cluster_arrive_relaxed();
  if (!Config::kRoom || Config::kCluster == 1) ptx::cluster_wait();
}

// Consumer of split-K kernels, one tile per cluster. Accumulators of the other CTAs arrive beside
// the stages or, if there is no room, in their place.
template <class Config>
__device__ __forceinline__ void gemm_consume_split(const GemmArgs& args, GemmPipeline<Config> ring,
                                                   u32 rank, u32 group, i32 unit) {
  const u32 first_piece = group * Config::kPieces;
  const u32 thread = threadIdx.x - 128;
  const u32 room = Config::kRoom ? ring.base + Config::kShared.d_offset : ring.base;
  const u32 barrier = ring.parts_barrier();
  const GemmTileAt tile = gemm_tile_at<Config>(args, unit, rank);
  const SplitShare<Config> share(args, tile.m0, tile.n0);
  if (thread == 0) ptx::mbarrier_arrive_expect(barrier, share.bytes());
  ptx::grid_dependency_wait();
  typename Config::Sum d[Config::kPieces][Config::kAccumulators];
  const GemmSpan span = gemm_span<Config>(args.k);
  gemm_accumulate<Config>(d, span, ring, first_piece);
  gemm_wait_products<Config>(d);
  if (Config::kCluster > 1 && span.end > span.begin) gemm_release_last<Config>(ring);
  gemm_sync_split<Config>();
#pragma unroll
  for (u32 piece = 0; piece < Config::kPieces; ++piece) {
    if ((first_piece + piece) * 4 + threadIdx.x / 32 % 4 >= share.warps) break;
    gemm_with_floats<Config>(d[piece], [&](auto& sums) {
      split_send<Config>(sums, share, room, barrier, rank, piece, thread);
    });
  }
  split_collect<Config>(args, share, room, barrier, first_piece, thread, tile.m0, tile.n0);
}

// Initializes the barriers and issues a CTA's first loads. Without a cluster, the first load goes
// out before the other stages' barriers are initialized: code that runs once costs mostly its
// instruction fetch, which would delay the load.
template <class Config>
__device__ __forceinline__ void gemm_begin(const GemmArgs& args, const GemmPipeline<Config>& ring,
                                           u32 warp, u32 rank) {
  // A copy: nvcc keeps no ring in uniform registers that producer and consumers both advance.
  GemmPipeline<Config> loading = ring;
  GemmFirst first;
  i32 k = 0;
  if (Config::kCluster == 1) {
    if (warp == 0) {
      first = gemm_first<Config>(args, gemm_first_unit<Config>(), rank);
      if (ptx::elect_one()) {
        gemm_init_barriers<Config>(ring, 0, 1);
        k = gemm_produce_first<Config>(args, loading, first, first.begin, 1, rank);
        gemm_init_barriers<Config>(ring, 1, Config::kStages);
      }
      ptx::sync_warp();
      ptx::named_barrier_arrive(5, Config::kThreads);
      if (ptx::elect_one())
        k = gemm_produce_first<Config>(args, loading, first, k, Config::kStages, rank);
      ptx::sync_warp();
    } else {
      if (Config::kAsks && warp >= 4) gemm_prefetch_weights<Config>(args);
      ptx::named_barrier(5, Config::kThreads);
    }
  } else {
    if (warp == 0 && ptx::elect_one()) {
      ptx::prefetch_map(&args.map_a);
      ptx::prefetch_map(&args.map_b);
      gemm_init_barriers<Config>(ring, 0, Config::kStages);
    }
    ptx::sync_block();
    ptx::cluster_arrive_relaxed();
    if (warp == 0) first = gemm_first<Config>(args, gemm_first_unit<Config>(), rank);
    ptx::cluster_wait();
    if (warp == 0 && ptx::elect_one())
      gemm_produce_first<Config>(args, loading, first, first.begin, Config::kStages, rank);
  }
  if (Config::kRoom && Config::kCluster == 1) ptx::cluster_arrive_relaxed();  // gemm_sync_split
}

template <class Config>
__device__ void gemm_basic(const GemmArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  // Without ptx::kept, nvcc recomputes the address per k block: a fifth of small tiles' main loop.
  const GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  // Rank among the CTAs that share A and B: a split-K cluster has several such groups.
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() % Config::kCluster : 0;
  gemm_begin<Config>(args, ring, warp, rank);

  // In this order nvcc places the producer's code next to what runs before it: loads also wait for
  // instruction fetches.
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<Config::kConsumerRegisters>();
    const u32 group = Config::kConsumers == 1 ? 0 : warp / 4 - 1;
    const i32 first_unit = gemm_first_unit<Config>();
    if constexpr (Config::kSplit)
      gemm_consume_split<Config>(args, ring, rank, group, first_unit);
    else if (epilogue_is_stored<Config>(args))
      gemm_consume_stored<Config>(args, ring, group, first_unit);
    else
      gemm_consume<Config>(args, ring, rank, group, first_unit);
  } else {
    if (Config::kConsumers > 1) ptx::set_max_registers_down<Config::kProducerRegisters>();
    if (warp < Config::kLoaders && ptx::elect_one()) gemm_produce<Config>(args, ring, rank, warp);
    __syncwarp();
    ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
    gemm_sync_split<Config>();
  }
}

}  // namespace tw
