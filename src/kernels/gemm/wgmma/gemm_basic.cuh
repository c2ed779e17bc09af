// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B + beta C on Hopper: persistent, warp-specialised, TMA in and out.
//
//   warpgroup 0        a thread, of small tiles two in turn, loads: waits for a free stage, sends
//                      A and B of one k block
//   warpgroups 1, 2    multiply from shared memory (wgmma), then write D
//
// Cooperative rows: both multiply half the rows of one tile. Ping-pong rows: each takes every other
// tile whole, and writes it while the other multiplies; a turn passes when all of a tile's products
// are sent, so that the tensor cores never see two tiles' k blocks interleaved.
//
// Split rows: the blocks of a cluster multiply parts of k of one tile, see epilogue/split.cuh.
//
// f32 rows multiply a tile of large k in several chains (gemm_chains), one after the other. Where
// registers do not hold two sums (gemm_keeps_chains) the upper halves of one are put aside
// (gemm_park); where those do not fit either, and in what follows is not stored at once, each is
// written as a tile is, and those behind the first are added to D by the copy engine. Of ping-pong
// rows both warpgroups take turns chain by chain.
//
// A ring of kStages stages, each with two barriers: full (bytes have landed) and empty (every
// warpgroup that reads it, in every block of the cluster that the stage was sent to, is done).
// Blocks of a cluster that share B (along m) or A (along n) load a part each and multicast it.
// While a tile is written out, the producer already fills the ring for the next one. With a tile's
// first stage it says where the tile is.
//
// Where the copy engine writes all of D, C is not read and there are products, the tiles have a
// loop of their own (gemm_consume_stored), which keeps what happens between two of them short. D of
// a cooperative row that has staging memory for half of it waits in registers, and is written while
// the next tile's products are made (epilogue_left).
//
// Launched programmatically, every thread waits for the grids in front before it reads or writes
// global memory, but for the loads of constant operands that fill the ring; in an ordinary launch
// there is nothing to wait for. What is asked into the L2 before (gemm_ask_for_weights) is not
// read: what the grids in front still write comes to lie there too. The producer lets the grid
// behind come when it has sent its last load, of two threads the last but one: no two blocks share
// an SM, but where this grid leaves SMs free, loads of the next one's weights would slow its own.

#include "kernels/gemm/epilogue/epilogue_stored.cuh"
#include "kernels/gemm/epilogue/split.cuh"
#include "kernels/gemm/wgmma/gemm_turns.cuh"
#include "kernels/ptx/global.cuh"

namespace tw {

// Where a consumer warpgroup's slabs begin.
template <class Config>
__device__ __forceinline__ u32 gemm_staging(const GemmRing<Config>& ring, u32 group) {
  return ring.base + Config::kShared.d_offset +
         group * (Config::kShared.slabs * Config::kShared.slab_bytes);
}

// Whether nobody takes turns with the chains of a unit: of a last one that has no partner.
template <class Config>
__device__ __forceinline__ bool gemm_alone(i32 unit, i32 unit_step, i32 units, u32 group) {
  return Config::kInTurn && group == 0 && unit + unit_step / 2 >= units;
}

// Past the stages of the other's chain: the same one, or for the second group the next.
template <class Config>
__device__ __forceinline__ void gemm_skip_other(GemmRing<Config>& ring, GemmSpan span, u32 group,
                                                i32 chain, i32 chains, bool alone) {
  if (!Config::kPingpong || alone) return;
  const i32 next = chain + 1 < chains ? chain + 1 : 0;
  ring.skip(gemm_chain_blocks<Config>(span, group == 0 ? chain : next, chains));
}

// A warpgroup's tiles on their way to D by epilogue_stored.
template <class Config>
struct GemmStored {
  const GemmArgs& args;
  u32 staging, group, first_piece;
  u32 turn = 0;
  u32 due = 0;
  EpilogueLeft<Config> left;  // nothing while `due` is 0

  __device__ __forceinline__ GemmStored(const GemmArgs& of, u32 at, u32 own, u32 first)
      : args(of), staging(at), group(own), first_piece(first) {}

  // Called for a k block each: D goes out in halves, two blocks apart, since the second one waits
  // until the engine has read the first.
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
  __device__ __forceinline__ void tile(typename Config::Sum (&d)[Config::kPieces][Config::kSums],
                                       const GemmTileAt& at) {
    due = epilogue_left<Config>() > 0 ? 4 : 0;
#pragma unroll
    for (i32 piece = 0; piece < Config::kPieces; ++piece)
      gemm_with_sums<Config>(d[piece], [&](auto& sums) {
        epilogue_stored<Config>(sums, args, staging, turn, group,
                                at.m0 + (static_cast<i32>(first_piece) + piece) * 64, at.n0, false,
                                left);
      });
  }
};

// Tiles whose D goes by epilogue_stored.
template <class Config>
__device__ __forceinline__ void gemm_consume_stored(const GemmArgs& args, GemmRing<Config> ring,
                                                    u32 group, i32 first_unit) {
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
  typename Config::Sum d[Config::kPieces][Config::kSums];
  [[maybe_unused]] typename Config::Sum kept[Config::kPieces][Config::kSums];
  [[maybe_unused]] u32 parked[Config::kPieces][Config::kSums / 2];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    GemmTileAt tile;
    const bool alone = gemm_alone<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      if (chain == 0 || !alone) gemm_take_turn<Config>(group);
      gemm_multiply<Config>(d, gemm_chain_of<Config>(span, chain, chains, group), ring, first_piece,
                            Config::kParks && chain > 0, &tile, [&] { stored.write_left(); });
      if (!alone) gemm_pass_turn<Config>(group);
      stored.write_all_left();
      gemm_wait_products<Config>(d);
      gemm_release_last<Config>(ring);
      gemm_skip_other<Config>(ring, span, group, chain, chains, alone);
      if constexpr (Config::kKeeps && Config::kStoresChains)
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
      if constexpr (Config::kParks && Config::kStoresChains)
        if (chains > 1) gemm_park<Config>(d, parked, chain, chains);
      if ((Config::kKeeps || Config::kParks) && Config::kStoresChains && chain + 1 < chains)
        continue;
      stored.tile(d, tile);
    }
  }
  stored.write_all_left();
  epilogue_finish();
}

// Asks a warpgroup's part of C into the L2, lines of 128 bytes and each line's last element.
template <class Config>
__device__ __forceinline__ void gemm_ask_for_c(const GemmArgs& args, i32 m0, i32 n0) {
  using Out = typename Config::Out;
  constexpr i32 kTogether = 128 / static_cast<i32>(Out::kBytes);
  constexpr i32 kRows = Config::kPieces * 64;
  constexpr i32 kAlong = Config::kTransposed ? kRows : Config::kTileN;
  constexpr i32 kLines = Config::kTransposed ? Config::kTileN : kRows;
  constexpr i32 kAcross = (kAlong + kTogether - 1) / kTogether + 1;
  const i32 line0 = Config::kTransposed ? n0 : m0, at0 = Config::kTransposed ? m0 : n0;
  const i32 lines = (Config::kTransposed ? args.n : args.m) - line0;
  const i32 rest = (Config::kTransposed ? args.m : args.n) - at0;
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
__device__ __forceinline__ void gemm_consume(const GemmArgs& args, GemmRing<Config> ring, u32 rank,
                                             u32 group, i32 first_unit) {
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
  ptx::grid_dependency_wait();  // C is read and D written, even where nothing is loaded
  typename Config::Sum d[Config::kPieces][Config::kSums];
  [[maybe_unused]] typename Config::Sum kept[Config::kPieces][Config::kSums];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    const GemmTileAt tile = gemm_tile_at<Config>(args, unit, rank);
    if (args.beta != 0.0f && !args.adds)
      gemm_ask_for_c<Config>(args, tile.m0 + static_cast<i32>(first_piece) * 64, tile.n0);
    const bool alone = gemm_alone<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      const GemmSpan of = gemm_chain<Config>(span, chain, chains);
      if (chain == 0 || !alone) gemm_take_turn<Config>(group);
      gemm_accumulate<Config>(d, of, ring, first_piece);
      if (!alone) gemm_pass_turn<Config>(group);
      gemm_wait_products<Config>(d);
      if (of.end > of.begin) gemm_release_last<Config>(ring);
      gemm_skip_other<Config>(ring, span, group, chain, chains, alone);
      if constexpr (Config::kKeeps) {
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
        if (chain + 1 < chains) continue;
      }
#pragma unroll
      for (i32 piece = 0; piece < Config::kPieces; ++piece)
        gemm_with_sums<Config>(d[piece], [&](auto& sums) {
          epilogue<Config>(sums, args, staging, turn, group,
                           tile.m0 + (static_cast<i32>(first_piece) + piece) * 64, tile.n0,
                           Config::kChains && !Config::kKeeps && chain > 0);
        });
    }
  }
  epilogue_finish();
}

// The barriers of stages `from` to `to`; with the first also that of a split's parts.
template <class Config>
__device__ __forceinline__ void gemm_init_barriers(const GemmRing<Config>& ring, i32 from, i32 to) {
#pragma unroll
  for (i32 stage = from; stage < to; ++stage) {
    ptx::mbarrier_init(ring.full_barrier(stage), 1);
    ptx::mbarrier_init(ring.empty_barrier(stage), Config::kReaders * Config::kReached);
  }
  if (Config::kSplit && from == 0) ptx::mbarrier_init(ring.parts_barrier(), 1);
  ptx::fence_mbarrier_init();
}

// All threads of a split's cluster, before sums are sent: where they have room of their own it is
// enough that all blocks have begun, else all rings must be read.
template <class Config>
__device__ __forceinline__ void gemm_meet_parts() {
  if (!Config::kSplit) return;
  if (!Config::kRoom) ptx::cluster_arrive_relaxed();
  if (!Config::kRoom || Config::kCluster == 1) ptx::cluster_wait();
}

// A split's blocks have one tile. Where there is no room for the parts of its sums beside the ring
// they come into it, when all of the cluster's rings are read.
template <class Config>
__device__ __forceinline__ void gemm_consume_split(const GemmArgs& args, GemmRing<Config> ring,
                                                   u32 rank, u32 group, i32 unit) {
  const u32 first_piece = group * Config::kPieces;
  const u32 thread = threadIdx.x - 128;
  const u32 room = Config::kRoom ? ring.base + Config::kShared.d_offset : ring.base;
  const u32 barrier = ring.parts_barrier();
  const GemmTileAt tile = gemm_tile_at<Config>(args, unit, rank);
  const SplitShare<Config> share(args, tile.m0, tile.n0);
  if (thread == 0) ptx::mbarrier_arrive_expect(barrier, share.bytes());
  ptx::grid_dependency_wait();
  typename Config::Sum d[Config::kPieces][Config::kSums];
  const GemmSpan span = gemm_span<Config>(args.k);
  gemm_accumulate<Config>(d, span, ring, first_piece);
  gemm_wait_products<Config>(d);
  if (Config::kCluster > 1 && span.end > span.begin) gemm_release_last<Config>(ring);
  gemm_meet_parts<Config>();
#pragma unroll
  for (u32 piece = 0; piece < Config::kPieces; ++piece) {
    if ((first_piece + piece) * 4 + threadIdx.x / 32 % 4 >= share.warps) break;
    gemm_with_sums<Config>(d[piece], [&](auto& sums) {
      split_send<Config>(sums, share, room, barrier, rank, piece, thread);
    });
  }
  split_collect<Config>(args, share, room, barrier, first_piece, thread, tile.m0, tile.n0);
}

// Makes the barriers and sends a block's first loads. Loads that reach this block alone wait for
// nobody else: the first is sent before the other barriers are made, since code that runs once
// costs what it takes to fetch it.
template <class Config>
__device__ __forceinline__ void gemm_begin(const GemmArgs& args, const GemmRing<Config>& ring,
                                           u32 warp, u32 rank) {
  // The producer's own: what both it and consumers advance is in nobody's uniform registers.
  GemmRing<Config> loading = ring;
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
      if (Config::kAsks && warp >= 4) gemm_ask_for_weights<Config>(args);
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
  if (Config::kRoom && Config::kCluster == 1) ptx::cluster_arrive_relaxed();  // gemm_meet_parts
}

template <class Config>
__device__ void gemm_basic(const GemmArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  // Kept: made anew in each k block, it costs loops of small tiles a fifth of their time.
  const GemmRing<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  // Among the blocks that share A and B; a split has several such groups in a cluster.
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() % Config::kCluster : 0;
  gemm_begin<Config>(args, ring, warp, rank);

  // In this order nvcc puts the producer's code next to what runs before it: loads wait for
  // instructions too.
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<Config::kManyRegisters>();
    const u32 group = Config::kConsumers == 1 ? 0 : warp / 4 - 1;
    const i32 first_unit = gemm_first_unit<Config>();
    if constexpr (Config::kSplit)
      gemm_consume_split<Config>(args, ring, rank, group, first_unit);
    else if (epilogue_is_stored<Config>(args))
      gemm_consume_stored<Config>(args, ring, group, first_unit);
    else
      gemm_consume<Config>(args, ring, rank, group, first_unit);
  } else {
    if (Config::kConsumers > 1) ptx::set_max_registers_down<Config::kFewRegisters>();
    if (warp < Config::kLoaders && ptx::elect_one()) gemm_produce<Config>(args, ring, rank, warp);
    __syncwarp();
    ptx::grid_dependency_wait();  // threads that do nothing too: a grid ends after those in front
    gemm_meet_parts<Config>();
  }
}

}  // namespace tw
