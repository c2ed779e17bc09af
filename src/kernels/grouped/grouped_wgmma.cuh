// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products on Hopper, with persistent blocks over the tiles of all groups. The kernels use
// swap-AB, so that a tile is only as wide as its group needs, see grouped_work.cuh. A block first
// builds the table of groups and the schedule in shared memory (GroupedTiles, GroupedShares). Then
// the producer warpgroup loads k blocks, and the consumer warpgroups multiply them and write D.

#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/grouped/grouped_pieces.cuh"
#include "kernels/grouped/grouped_produce.cuh"

namespace tw {

// Offsets of the kernel's own shared memory behind the pipeline.
template <class Config>
struct GroupedPlaces {
  static_assert(Config::kTileM == kGroupedTileColumns,
                "what the plan's maps and workspace are for");
  static constexpr u32 kTable = Config::kShared.board;
  // In of_warp, which is unused once grouped_fill() has built the table.
  static constexpr u32 kShares = kTable + offsetof(GroupedTiles, of_warp);
  static_assert(sizeof(GroupedShares) <= sizeof(GroupedTiles::of_warp), "where the sums were");
  static constexpr u32 kARows = kTable + sizeof(GroupedTiles);  // gathered rows of the loaded tile
  static constexpr u32 kDRows = kARows + kGroupedTileRows * 4;  // GroupedLines of each warpgroup
  static constexpr u32 kDRowBytes = kGroupedTileRows * 8;
  static_assert(kDRows + 2 * kDRowBytes <= Config::kShared.total, "what gemm_shared has left");
};

// Stages a warpgroup's accumulators in shared memory slab by slab. Calls use(slab, inside, r) for
// each row r of D in [begin, end) that the thread writes; r is line `inside` of the slab. `across`
// threads share a row of D.
template <class Config, class Use>
__device__ __forceinline__ void grouped_each_line(const float (&d)[Config::kAccumulators],
                                                  i32 begin, i32 end, u32 across, u32 staging,
                                                  u32 group, Use use) {
  using Slab = StreamSlab<Config>;
  const u32 first = threadIdx.x % 128 / across, step = 128 / across;
#pragma unroll 1
  for (i32 slab = 0; begin + slab * Slab::kLines < end; ++slab) {
    const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
    staged.put(d, slab);
    // Every thread that arrives here has read the previous slab. The next one may overwrite it.
    stream_staged(group);
#pragma unroll 1
    for (u32 inside = first; inside < Slab::kLines; inside += step) {
      const i32 r = begin + slab * Slab::kLines + static_cast<i32>(inside);
      if (r >= end) break;
      use(staged, inside, r);
    }
  }
  stream_staged(group);  // the next tile overwrites the first slab
}

// Writes a warpgroup's accumulators to D with any epilogue. A thread writes the same eight columns
// of D in all its rows, so that it reads their bias once. With swap-AB the rows of the tile are
// columns of D: `row` and Slab::kRows count columns of D, `r` is a row of D.
template <class Config>
__device__ __forceinline__ void grouped_write_tile(const float (&d)[Config::kAccumulators],
                                                   const GroupedArgs& args, const GroupedSpot& tile,
                                                   const GroupedLines<Config>& lines, u32 staging,
                                                   u32 group) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  using Slab = StreamSlab<Config>;
  constexpr bool kSideBySide = Config::kColumnA == 0;  // gates as in grouped_load_weights()
  const bool gated = args.gate != kGateNone;
  const u32 across = gated ? Slab::kRows / 16 : Slab::kRows / 8;
  const u32 row = threadIdx.x % 128 % across * 8;
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const i32 at = (gated ? m0 / 2 : m0) + static_cast<i32>(row);
  const i32 count = grouped_columns(args) - at;
  const GroupedTile values = grouped_tile(args, tile.weight);
  float bias[8];
  grouped_bias<In>(args, values, at, count, false, bias);
  grouped_each_line<Config>(
      d, tile.row0, tile.end, across, staging, group, [&](const Slab& staged, u32 inside, i32 r) {
        if (count <= 0) return;
        grouped_write<Out>(
            args, values,
            GroupedLine{lines.template row<Out>(args, tile, r), lines.weight_of(tile, r)}, at,
            count,
            [&](bool second, float(&v)[8]) {
              if (gated && kSideBySide)
                staged.get(inside, row * 2 + (second ? 8 : 0), v);
              else
                staged.take(args.gate, inside, row, second, v);
            },
            [&](bool second, float(&own)[8]) {
              if (second) return grouped_bias<In>(args, values, at, count, true, own);
#pragma unroll
              for (i32 i = 0; i < 8; ++i) own[i] = bias[i];
            });
      });
}

// Likewise, with the fastest function that the run's epilogue allows. There is no last else: for
// gates in other configurations grouped_in_pieces() is false.
template <class Config>
__device__ __forceinline__ void grouped_write_any(float (&d)[Config::kAccumulators],
                                                  const GroupedArgs& args, const GroupedSpot& tile,
                                                  const GroupedLines<Config>& lines,
                                                  const GemmPipeline<Config>& ring, u32 group) {
  const u32 staging = ring.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  if (!grouped_in_pieces<Config>(args))
    grouped_write_tile<Config>(d, args, tile, lines, staging, group);
  else if (args.gate == kGateNone)
    grouped_write_plain<Config>(d, args, tile, lines, staging, group);
  else if constexpr (Config::Out::kBytes == 2 && Config::kColumnA == 0)
    grouped_write_gated<Config>(d, args, tile, lines, staging, group);
}

template <class Config>
__device__ __forceinline__ void grouped_consume(const GroupedArgs& args, const GroupedTiles& table,
                                                const GroupedShares& shares,
                                                GemmPipeline<Config> ring, u32 group) {
  GroupedLines<Config> lines(
      args, ring.base + GroupedPlaces<Config>::kDRows + group * GroupedPlaces<Config>::kDRowBytes);
  GroupedWork work(shares);
  StreamItem item;
  float d[Config::kPieces][Config::kAccumulators];
  while (work.next(shares, &item)) {
    const GroupedSpot tile = grouped_spot<Config>(args, table, shares, item.unit);
    const GroupedParts parts(args, shares, tile.width, tile.width_number);
    lines.read(args, tile);
    const i32 shared = item.unit - shares.whole;
    // Recomputed here, because the accumulators leave no registers to keep these values in.
    const auto block = static_cast<i32>(ptx::block_id_again());
    const i32 which = shared < 0 ? 0 : gemm_stream_place(shared, shares.depth, shares.share, block);
    const StreamPlace<Config> place(parts, block, which, 0);
    stream_accumulate<Config>(d, parts, item, place, ring, group);
    lines.put(group);  // before stream_meet(), which needs all registers
    if (item.end - item.begin < shares.k_blocks &&
        !stream_meet<Config>(d[0], parts, shared, place, 0, ring.tile(0)))
      continue;
    grouped_write_any<Config>(d[0], args, tile, lines, ring, group);
  }
}

// Initializes the barriers. A stage is full when its bytes have landed and, if rows are gathered,
// all threads that copy them have arrived. It is empty when `readers` threads have arrived. One
// thread does it: with one barrier per lane ptxas generates a loop over lanes, which takes a
// microsecond.
template <class Config>
__device__ __forceinline__ void grouped_begin(const GroupedArgs& args,
                                              const GemmPipeline<Config>& ring, bool copies,
                                              u32 readers = Config::kReaders) {
  if (ptx::elect_one()) {
    ptx::prefetch_map(&args.map_b);
    if (args.a_rows == 0) ptx::prefetch_map(&args.map_a[0]);
    const u32 arrivals = copies ? 1 + kGatherThreads : 1;
#pragma unroll
    for (i32 stage = 0; stage < static_cast<i32>(kGemmMaxStages); ++stage) {
      ptx::mbarrier_init(ring.full_barrier(stage), arrivals);
      ptx::mbarrier_init(ring.empty_barrier(stage), readers);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::sync_warp();
}

// Registers per thread in the producer warpgroup (kFew) and the consumer warpgroups (kMany). If
// they asked for more than the block was launched with, setmaxnreg would wait forever.
template <class Config>
struct GroupedRegisters {
  static constexpr u32 kFew = 40, kMany = 232;
  static constexpr u32 kLaunched = 65536 / Config::kThreads / 8 * 8 * Config::kThreads;
  static_assert(128 * kFew + 128 * Config::kConsumers * kMany <= kLaunched, "more than there are");
};

template <class Config>
__device__ __forceinline__ void grouped_wgmma(const GroupedArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  using Shared = GroupedPlaces<Config>;
  constexpr auto kThreads = static_cast<i32>(Config::kThreads);
  GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  if (warp == 0) grouped_begin<Config>(args, ring, args.a_rows != 0);
  ptx::grid_dependency_wait();
  auto& table = *reinterpret_cast<GroupedTiles*>(gemm_shared_memory + Shared::kTable);
  grouped_fill<kThreads, Config::kTileN>(table, args);
  // The widest tile of the run determines the size of a stage and so the number of stages.
  const i32 widest = grouped_width(min(table.most_rows(), Config::kTileN)).width;
  ring.set(Config::kShared.a_bytes + static_cast<u32>(widest) * 128, args.a_rows != 0);
  auto& shares = *reinterpret_cast<GroupedShares*>(gemm_shared_memory + Shared::kShares);
  if (threadIdx.x == 0) shares = grouped_shares<Config>(args, table, widest);
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kMany>();
    grouped_consume<Config>(args, table, shares, ring, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kFew>();
    if (args.a_rows != 0) {
      grouped_gather<Config>(args, table, shares, ring, ring.base + Shared::kARows);
    } else if (warp == 0 && ptx::elect_one()) {
      grouped_produce<Config>(args, table, shares, ring);
    }
  }
}

}  // namespace tw
