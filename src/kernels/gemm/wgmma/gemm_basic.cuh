// SPDX-License-Identifier: Apache-2.0
#pragma once
// The basic kernels: D = alpha A B + beta C on Hopper, persistent and warp-specialized.
//
//   warpgroup 0        producer: one thread (for small tiles two that alternate) waits for a free
//                      stage and issues the TMA loads of A and B for one k block
//   warpgroups 1, 2    consumers: multiply from shared memory (wgmma), then write D; a tile of 64
//                      rows has only one
//
// Cooperative kernels: two consumer warpgroups multiply half of a tile's rows each. Ping-pong
// kernels: each takes every other tile and writes it while the other one multiplies. It passes the
// turn when it has issued all products of its tile, so that the tensor cores never interleave two
// tiles. Split-K kernels: the CTAs of a cluster multiply parts of one tile's k, see
// epilogue/split.cuh.
//
// Pipeline: kStages stages with two barriers each, full (the bytes have landed) and empty (all
// warpgroups that read the stage, in all CTAs that received it, have released it). CTAs of a
// cluster that share B (along m) or A (along n) load a part each and multicast it. The producer
// fills stages for the next tile while consumers write one. It stores a tile's position beside the
// barriers of the tile's first stage, where consumers read it.
//
// Accumulation chains: for an f32 D a long k is split into chains (gemm_chain_count), which limits
// the truncation error of the tensor cores. Threads add the chains up in registers if these hold
// two sets of accumulators (gemm_keep) or, in gemm_consume_all_tma, one set and the upper 16 bits
// of another (gemm_park). Otherwise each chain is written like a tile, and the TMA adds all but the
// first to D. Ping-pong warpgroups alternate chain by chain.
//
// If the TMA writes all of D, C is not read and k > 0, gemm_consume_all_tma handles the tiles, with
// less code between two of them. A cooperative kernel whose staging slabs hold only half of its
// part of D keeps D in registers and writes it during the next tile's main loop (EpiloguePending).
//
// PDL: every thread waits for the predecessor grids before it accesses global memory. Two accesses
// do not wait: the first loads of constant operands, and L2 prefetches of weights
// (gemm_prefetch_weights), which are safe because the L2 is coherent: a later write updates the
// prefetched bytes. The producer triggers the dependent launch after its last load; of two loaders,
// the one without the last load does so. If the launch came earlier, dependent CTAs on free SMs
// would compete for bandwidth.

#include "kernels/gemm/epilogue/epilogue_stored.cuh"
#include "kernels/gemm/epilogue/split.cuh"
#include "kernels/gemm/wgmma/gemm_turns.cuh"
#include "kernels/ptx/global.cuh"

namespace tw {

// Shared address of a consumer warpgroup's staging slabs.
template <class Config>
__device__ __forceinline__ u32 gemm_staging(const GemmPipeline<Config>& pipeline, u32 group) {
  return pipeline.base + Config::kShared.d_offset +
         group * (Config::kShared.slabs * Config::kShared.slab_bytes);
}

// Whether a unit has no partner to alternate chains with: the last of an odd number of units.
template <class Config>
__device__ __forceinline__ bool gemm_has_no_partner(i32 unit, i32 unit_step, i32 units, u32 group) {
  return Config::kAlternatesChains && group == 0 && unit + unit_step / 2 >= units;
}

// Skips the stages of the other ping-pong warpgroup's chain. After chain number `chain` of group 0,
// group 1 multiplies the chain of the same number; after that of group 1, group 0 multiplies its
// next chain, or the first one of its next tile.
template <class Config>
__device__ __forceinline__ void gemm_skip_other(GemmPipeline<Config>& pipeline, GemmSpan span,
                                                u32 group, i32 chain, i32 chains,
                                                bool has_no_partner) {
  if (!Config::kPingpong || has_no_partner) return;
  const i32 next = chain + 1 < chains ? chain + 1 : 0;
  pipeline.skip(gemm_chain_blocks<Config>(span, group == 0 ? chain : next, chains));
}

// Writes a warpgroup's tiles to D with epilogue_all_tma(), or keeps D in registers (`pending`) and
// writes it while the next tile is multiplied.
template <class Config>
struct GemmAllTma {
  const GemmArgs& args;
  u32 staging, group, first_row_block;
  u32 slab_offset = 0;
  u32 countdown = 0;                // k blocks until `pending` is written completely
  EpiloguePending<Config> pending;  // valid while `countdown` > 0

  __device__ __forceinline__ GemmAllTma(const GemmArgs& arguments, u32 slabs, u32 warpgroup,
                                        u32 row_block)
      : args(arguments), staging(slabs), group(warpgroup), first_row_block(row_block) {}

  // The main loop calls this once per k block. D is written in two halves, two k blocks apart,
  // because the second half reuses the slabs and has to wait until the TMA has read the first.
  __device__ __forceinline__ void write_pending() {
    if constexpr (epilogue_pending_slabs<Config>() > 0) {
      if (countdown == 4)
        epilogue_write_pending<Config, 0>(pending, args, staging, group);
      else if (countdown == 2)
        epilogue_write_pending<Config, 1>(pending, args, staging, group);
      if (countdown > 0) --countdown;
    }
  }
  __device__ __forceinline__ void write_all_pending() {
    while (countdown > 0) write_pending();
  }
  __device__ __forceinline__ void write_tile(
      typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators],
      const GemmTilePosition& position) {
    countdown = epilogue_pending_slabs<Config>() > 0 ? 4 : 0;
#pragma unroll
    for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
      gemm_with_floats<Config>(d[row_block], [&](auto& sums) {
        epilogue_all_tma<Config>(sums, args, staging, slab_offset, group,
                                 position.m0 + (static_cast<i32>(first_row_block) + row_block) * 64,
                                 position.n0, pending);
      });
  }
};

// Consumer loop for launches where epilogue_is_all_tma() holds.
template <class Config>
__device__ __forceinline__ void gemm_consume_all_tma(const GemmArgs& args,
                                                     GemmPipeline<Config> pipeline, u32 group,
                                                     i32 first_unit) {
  static_assert(
      !Config::kAllTmaAddsChains || Config::kKeepsChains || Config::kParksChains,
      "several chains must be added in registers: each TMA store would overwrite the last");
  i32 unit_step = gemm_unit_step<Config>();
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  GemmAllTma<Config> writer(args, gemm_staging<Config>(pipeline, group), group, first_row_block);
  const i32 units = args.units_m * args.units_n;
  const GemmSpan span = {0, args.k};
  const i32 chains = Config::kAllTmaAddsChains ? 1 + args.more_chains : 1;
  if (Config::kPingpong) {
    if (group == 1) {
      pipeline.skip(gemm_chain_blocks<Config>(span, 0, chains));
      gemm_pass_turn<Config>(1);
      first_unit += unit_step;
    }
    unit_step *= 2;
  }
  ptx::grid_dependency_wait();
  typename Config::Sum d[Config::kRowBlocks][Config::kAccumulators];
  [[maybe_unused]] typename Config::Sum kept[Config::kRowBlocks][Config::kAccumulators];
  [[maybe_unused]] u32 parked[Config::kRowBlocks][Config::kAccumulators / 2];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    GemmTilePosition tile;
    const bool has_no_partner = gemm_has_no_partner<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      if (chain == 0 || !has_no_partner) gemm_take_turn<Config>(group);
      gemm_multiply<Config>(d, gemm_chain_span_of_group<Config>(span, chain, chains, group),
                            pipeline, first_row_block, Config::kParksChains && chain > 0, &tile,
                            [&] { writer.write_pending(); });
      if (!has_no_partner) gemm_pass_turn<Config>(group);
      writer.write_all_pending();
      gemm_wait_products<Config>(d);
      gemm_release_last<Config>(pipeline);
      gemm_skip_other<Config>(pipeline, span, group, chain, chains, has_no_partner);
      if constexpr (Config::kKeepsChains && Config::kAllTmaAddsChains)
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
      if constexpr (Config::kParksChains && Config::kAllTmaAddsChains)
        if (chains > 1) gemm_park<Config>(d, parked, chain, chains);
      if ((Config::kKeepsChains || Config::kParksChains) && Config::kAllTmaAddsChains &&
          chain + 1 < chains)
        continue;
      writer.write_tile(d, tile);
    }
  }
  writer.write_all_pending();
  epilogue_finish();
}

// Prefetches a warpgroup's part of C into the L2: one address every 128 bytes of each line of C (a
// row, or a column with swap-AB), and also the line's last element, since a line need not begin at
// a multiple of 128 bytes.
template <class Config>
__device__ __forceinline__ void gemm_prefetch_c(const GemmArgs& args, i32 m0, i32 n0) {
  using Out = typename Config::Out;
  constexpr i32 kTogether = 128 / static_cast<i32>(Out::kBytes);
  constexpr i32 kRows = Config::kRowBlocks * 64;
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
__device__ __forceinline__ void gemm_consume(const GemmArgs& args, GemmPipeline<Config> pipeline,
                                             u32 rank, u32 group, i32 first_unit) {
  i32 unit_step = gemm_unit_step<Config>();
  const u32 staging = gemm_staging<Config>(pipeline, group);
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  const i32 units = args.units_m * args.units_n;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 chains = Config::kChains ? 1 + args.more_chains : 1;
  if (Config::kPingpong) {
    if (group == 1) {
      pipeline.skip(gemm_chain_blocks<Config>(span, 0, chains));
      gemm_pass_turn<Config>(1);
      first_unit += unit_step;
    }
    unit_step *= 2;
  }
  u32 slabs_written = 0;
  ptx::grid_dependency_wait();  // also if nothing is loaded: C is read and D is written
  typename Config::Sum d[Config::kRowBlocks][Config::kAccumulators];
  [[maybe_unused]] typename Config::Sum kept[Config::kRowBlocks][Config::kAccumulators];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    const GemmTilePosition tile = gemm_tile_position<Config>(args, unit, rank);
    if (args.beta != 0.0f && !args.adds_to_d)
      gemm_prefetch_c<Config>(args, tile.m0 + static_cast<i32>(first_row_block) * 64, tile.n0);
    const bool has_no_partner = gemm_has_no_partner<Config>(unit, unit_step, units, group);
    for (i32 chain = 0; chain < chains; ++chain) {
      const GemmSpan chain_span = gemm_chain_span<Config>(span, chain, chains);
      if (chain == 0 || !has_no_partner) gemm_take_turn<Config>(group);
      gemm_accumulate<Config>(d, chain_span, pipeline, first_row_block);
      if (!has_no_partner) gemm_pass_turn<Config>(group);
      gemm_wait_products<Config>(d);
      if (chain_span.end > chain_span.begin) gemm_release_last<Config>(pipeline);
      gemm_skip_other<Config>(pipeline, span, group, chain, chains, has_no_partner);
      if constexpr (Config::kKeepsChains) {
        if (chains > 1) gemm_keep<Config>(d, kept, chain, chains);
        if (chain + 1 < chains) continue;
      }
#pragma unroll
      for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
        gemm_with_floats<Config>(d[row_block], [&](auto& sums) {
          epilogue<Config>(sums, args, staging, slabs_written, group,
                           tile.m0 + (static_cast<i32>(first_row_block) + row_block) * 64, tile.n0,
                           Config::kChains && !Config::kKeepsChains && chain > 0);
        });
    }
  }
  epilogue_finish();
}

// Consumer of split-K kernels, one tile per cluster. Accumulators of the other CTAs arrive in
// memory beside the stages (kHasReceiveBuffer) or in that of the stages.
template <class Config>
__device__ __forceinline__ void gemm_consume_split(const GemmArgs& args,
                                                   GemmPipeline<Config> pipeline, u32 rank,
                                                   u32 group, i32 unit) {
  const u32 first_row_block = group * Config::kRowBlocks;
  const u32 thread = threadIdx.x - 128;
  const u32 received =
      Config::kHasReceiveBuffer ? pipeline.base + Config::kShared.d_offset : pipeline.base;
  const u32 barrier = pipeline.partials_barrier();
  const GemmTilePosition tile = gemm_tile_position<Config>(args, unit, rank);
  const SplitShare<Config> share(args, tile.m0, tile.n0);
  if (thread == 0) ptx::mbarrier_arrive_expect(barrier, share.bytes());
  ptx::grid_dependency_wait();
  typename Config::Sum d[Config::kRowBlocks][Config::kAccumulators];
  const GemmSpan span = gemm_span<Config>(args.k);
  gemm_accumulate<Config>(d, span, pipeline, first_row_block);
  gemm_wait_products<Config>(d);
  if (Config::kCluster > 1 && span.end > span.begin) gemm_release_last<Config>(pipeline);
  gemm_sync_split<Config>();
#pragma unroll
  for (u32 row_block = 0; row_block < Config::kRowBlocks; ++row_block) {
    if ((first_row_block + row_block) * 4 + threadIdx.x / 32 % 4 >= share.warps) break;
    gemm_with_floats<Config>(d[row_block], [&](auto& sums) {
      split_send<Config>(sums, share, received, barrier, rank, row_block, thread);
    });
  }
  split_collect<Config>(args, share, received, barrier, first_row_block, thread, tile.m0, tile.n0);
}

template <class Config>
__device__ void gemm_basic(const GemmArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  // Without ptx::opaque, nvcc recomputes the address for each k block, which takes a fifth of small
  // tiles' main loop.
  const GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  // Rank among the CTAs that share A and B: a split-K cluster has several such groups.
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() % Config::kCluster : 0;
  gemm_begin<Config>(args, pipeline, warp, rank, {1, Config::kReaders * Config::kMulticastCtas});

  // With the consumers first, nvcc places the producer's code next to what runs before it, so that
  // the producer's loads need not wait for instruction fetches.
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<Config::kConsumerRegisters>();
    const u32 group = Config::kConsumers == 1 ? 0 : warp / 4 - 1;
    const i32 first_unit = gemm_first_unit<Config>();
    if constexpr (Config::kSplit)
      gemm_consume_split<Config>(args, pipeline, rank, group, first_unit);
    else if (epilogue_is_all_tma<Config>(args))
      gemm_consume_all_tma<Config>(args, pipeline, group, first_unit);
    else
      gemm_consume<Config>(args, pipeline, rank, group, first_unit);
  } else {
    if (Config::kConsumers > 1) ptx::set_max_registers_down<Config::kProducerRegisters>();
    if (warp < Config::kLoaders && ptx::elect_one())
      gemm_produce<Config>(args, pipeline, rank, warp);
    __syncwarp();
    ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
    gemm_sync_split<Config>();
  }
}

}  // namespace tw
