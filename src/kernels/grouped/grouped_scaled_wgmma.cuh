// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 8-bit floats with scales on Hopper. They differ from grouped_wgmma.cuh in
// three points: the accumulators of each k block of 128 are multiplied by the block's scales and
// added in f32, also if the scales do not change along k; no tile is divided along k; and a stage
// also holds the block's scales, one for each weight column and each row of the tile. All threads
// of the producer warpgroup copy the scales and the gathered rows.

#include "kernels/gemm/wgmma/narrow/narrow_promote.cuh"
#include "kernels/grouped/grouped_scales.h"
#include "kernels/grouped/grouped_wgmma.cuh"

namespace tw {

/// The scales of the stages lie at the end of the pipeline's memory, those of stage 0 last.
template <class Config>
inline constexpr u32 kGroupedStageScales = (Config::kTileM + Config::kTileN) * 4;
template <class Config>
__device__ __forceinline__ u32 grouped_stage_scales(const GemmPipeline<Config>& ring) {
  return ring.base + Config::kShared.d_offset -
         static_cast<u32>(ring.stage + 1) * kGroupedStageScales<Config>;
}

/// The column of B for a line of the tile, or -1. With a gate, eight lines of gates and eight
/// linear lines alternate.
__device__ __forceinline__ i32 grouped_line_column(const GroupedArgs& args, i32 m0, i32 line) {
  if (args.gate == kGateNone) return m0 + line < args.n ? m0 + line : -1;
  const i32 pair = m0 / 2 + line / 16 * 8 + line % 8, kind = line / 8 % 2;
  if (pair >= args.n / 2) return -1;
  return args.gate == kGateHalves ? pair + kind * (args.n / 2) : 2 * pair + kind;
}

/// Addresses of the scales that a thread copies for the next k block: those of one column and of
/// two rows; 0 if there is none.
struct GroupedScalePlaces {
  u64 column;
  u64 rows[2];
};

__device__ __forceinline__ GroupedScalePlaces grouped_scale_places(const GroupedScaledArgs& all,
                                                                   const GroupedSpot& tile) {
  const GemmScales& scales = all.scales;
  const auto thread = static_cast<i32>(threadIdx.x);
  const i32 column = grouped_line_column(all.grouped, tile.m0, thread);
  GroupedScalePlaces places;
  places.column = narrow_line(scales.b, scales.b_by, column < 0 ? all.grouped.n : column,
                              all.grouped.n, tile.weight)
                      .address;
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const i32 r = tile.row0 + thread + i * static_cast<i32>(kGatherThreads);
    places.rows[i] = 0;
    const i32 a_row = r < tile.end ? grouped_a_row(all.grouped, r) : -1;
    if (a_row >= 0)
      places.rows[i] =
          scales.a.address + static_cast<u64>(grouped_a_scale(all, tile.group, r, a_row)) * 4;
  }
  return places;
}

/// Starts the copies of a k block's scales to shared memory. Missing scales become 0.
template <class Config>
__device__ __forceinline__ void grouped_copy_scales(const GroupedScaledArgs& all,
                                                    GroupedScalePlaces& places, u32 to, i32 lines) {
  const auto copy = [&](u64& from, u32 place, i64 step) {
    ptx::async_copy<4>(place, from != 0 ? from : all.scales.a.address, from != 0 ? 4 : 0);
    if (from != 0) from += static_cast<u64>(step) * 4;
  };
  static_assert(Config::kTileM == kGatherThreads && Config::kTileN <= 2 * kGatherThreads,
                "a thread has a column and two rows");
  const auto thread = static_cast<i32>(threadIdx.x);
  to += narrow_scale_slot(threadIdx.x) * 4;
  copy(places.column, to, all.scales.b.block_step);
#pragma unroll
  for (u32 i = 0; i < 2; ++i)
    if (thread + static_cast<i32>(i * kGatherThreads) < lines)
      copy(places.rows[i], to + (1 + i) * (kGatherThreads * 4), all.scales.a.block_step);
}

/// Whether rows are gathered. An f32 D leaves no register for it, so it is read again there.
template <class Config>
__device__ __forceinline__ bool grouped_gathers(const GroupedArgs& args,
                                                const GemmPipeline<Config>& ring) {
  if constexpr (Config::Out::kBytes == 2)
    return ring.copied();
  else
    return args.a_rows != 0;
}

template <class Config>
__device__ __forceinline__ void grouped_scaled_produce(const GroupedScaledArgs& all,
                                                       const GroupedTiles& table,
                                                       const GroupedShares& shares,
                                                       GemmPipeline<Config> ring, u32 rows) {
  const GroupedArgs& args = all.grouped;
  for (auto unit = static_cast<i32>(ptx::block_id_again()); unit < shares.units;
       unit += static_cast<i32>(ptx::grid_size_again())) {
    const GroupedSpot tile = grouped_spot<Config>(args, table, shares, unit);
    const i32 lines = grouped_lines(tile);
    GroupedScalePlaces places = grouped_scale_places(all, tile);
    if (grouped_gathers<Config>(args, ring)) grouped_look_up<Config>(args, tile, rows, lines);
#pragma unroll 1
    for (i32 block = 0; block < shares.k_blocks; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      if (threadIdx.x == 0) {
        const u32 bytes = grouped_gathers<Config>(args, ring) ? 0 : static_cast<u32>(lines) * 128;
        ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), Config::kShared.a_bytes + bytes);
        grouped_load_weights<Config>(args, ring, tile, block * Config::kTileK);
        if (!grouped_gathers<Config>(args, ring))
          grouped_load_rows<Config>(args, ring, tile, lines, block * Config::kTileK);
      }
      if (grouped_gathers<Config>(args, ring))
        grouped_copy_rows<Config>(args, ring, rows, lines, block * Config::kTileK);
      grouped_copy_scales<Config>(all, places, grouped_stage_scales<Config>(ring), lines);
      ptx::mbarrier_arrive_copies(ring.full_barrier(ring.stage));
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
}

/// The stages of grouped kernels: all of them hold scales.
template <class Config>
struct GroupedStages {
  const GroupedArgs& args;
  __device__ __forceinline__ void landed(const GemmPipeline<Config>& ring) const {
    if (grouped_gathers<Config>(args, ring)) ptx::fence_async_shared();
  }
  __device__ __forceinline__ u32 scales(const GemmPipeline<Config>& ring) const {
    return ptx::kept(grouped_stage_scales<Config>(ring));
  }
};

template <class Config>
__device__ __forceinline__ void grouped_scaled_consume(const GroupedArgs& args, bool shared_row,
                                                       const GroupedTiles& table,
                                                       const GroupedShares& shares,
                                                       GemmPipeline<Config> ring, u32 group) {
  GroupedLines<Config> lines(
      args, ring.base + GroupedPlaces<Config>::kDRows + group * GroupedPlaces<Config>::kDRowBytes);
  const GroupedStages<Config> stages{args};
  float d[Config::kAccumulators];
  for (auto unit = static_cast<i32>(ptx::block_id_again()); unit < shares.units;
       unit += static_cast<i32>(ptx::grid_size_again())) {
    const i32 width = grouped_spot<Config>(args, table, shares, unit).width;
    if (shared_row)
      NarrowLoop<Config, GroupedStages<Config>, NarrowScaling::shared_row>(stages, ring, group)
          .sum(d, shares.k_blocks, width);
    else
      NarrowLoop<Config, GroupedStages<Config>, NarrowScaling::by_row>(stages, ring, group)
          .sum(d, shares.k_blocks, width);
    const GroupedSpot tile = grouped_spot<Config>(
        args, table, shares, static_cast<i32>(ptx::kept(static_cast<u32>(unit))));
    lines.read(args, tile);
    lines.put(group);
    grouped_write_any<Config>(d, args, tile, lines, ring, group);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_scaled_wgmma(const GroupedScaledArgs& all) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  using Shared = GroupedPlaces<Config>;
  constexpr auto kThreads = static_cast<i32>(Config::kThreads);
  const GroupedArgs& args = all.grouped;
  GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  if (warp == 0) grouped_begin<Config>(args, ring, true, 4 * Config::kReaders);
  ptx::grid_dependency_wait();
  auto& table = *reinterpret_cast<GroupedTiles*>(gemm_shared_memory + Shared::kTable);
  grouped_fill<kThreads, Config::kTileN>(table, args);
  const i32 widest = grouped_width(min(table.most_rows(), Config::kTileN)).width;
  const u32 step = Config::kShared.a_bytes + static_cast<u32>(widest) * 128;
  ring.set(step, Config::Out::kBytes == 2 && args.a_rows != 0);
  ring.own_stages = static_cast<i32>(
      min(Config::kShared.d_offset / (step + kGroupedStageScales<Config>), kGemmMaxStages));
  auto& shares = *reinterpret_cast<GroupedShares*>(gemm_shared_memory + Shared::kShares);
  if (threadIdx.x == 0) shares = grouped_shares<Config>(args, table, widest);
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kMany>();
    grouped_scaled_consume<Config>(args, all.scales.b_by == kScaleBlock && args.gate == kGateNone,
                                   table, shares, ring, warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kFew>();
    grouped_scaled_produce<Config>(all, table, shares, ring, ring.base + Shared::kARows);
  }
}

}  // namespace tw
