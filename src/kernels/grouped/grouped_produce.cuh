// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producers of the grouped wgmma kernels. The TMA loads the weights. It also loads the rows of
// a tile if they are not gathered, in boxes of 8 to 128 rows, so that a short group loads few rows.
// All 128 threads of the producer's warpgroup copy gathered rows, 16 bytes at a time: issuing a
// bulk copy for each row would take longer than multiplying a k block.

#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/grouped/grouped_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Rows of A that a tile loads: its own, rounded up to the 8 rows of the swizzle's pattern.
__device__ __forceinline__ i32 grouped_lines(const GroupedSpot& tile) {
  return (tile.end - tile.row0 + 7) / 8 * 8;
}

// Loads a k block of the tile's weights. With a gate and weights that are contiguous along k, eight
// columns of gates and eight columns of gated values alternate. The map then has five dimensions:
// {k, 8 columns of one kind, the two kinds, groups of eight columns, weight matrices}.
template <class Config>
__device__ __forceinline__ void grouped_load_weights(const GroupedArgs& args,
                                                     const GemmPipeline<Config>& ring,
                                                     const GroupedSpot& tile, i32 k) {
  const u32 barrier = ring.full_barrier(ring.stage);
  if constexpr (Config::kColumnA) {
#pragma unroll
    for (i32 box = 0; box < Config::kTileM / 64; ++box)
      ptx::load_tile(ring.a() + static_cast<u32>(box) * (Config::kTileK * 128), &args.map_b,
                     barrier, tile.m0 + box * 64, k, tile.weight);
  } else if (args.gate == kGateNone) {
    ptx::load_tile(ring.a(), &args.map_b, barrier, k, tile.m0, tile.weight);
  } else {
    ptx::load_tile(ring.a(), &args.map_b, barrier, k, 0, 0, tile.m0 / 16, tile.weight);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_load_rows(const GroupedArgs& args,
                                                  const GemmPipeline<Config>& ring,
                                                  const GroupedSpot& tile, i32 lines, i32 k) {
  const u32 barrier = ring.full_barrier(ring.stage);
  i32 at = 0;
  for (; lines - at >= grouped_box(0); at += grouped_box(0))
    ptx::load_tile(ring.b() + static_cast<u32>(at) * 128, &args.map_a[0], barrier, k,
                   tile.row0 + at);
#pragma unroll
  for (int box = 1; box < kGroupedBoxCount; ++box) {
    if ((lines & grouped_box(box)) == 0) continue;
    ptx::load_tile(ring.b() + static_cast<u32>(at) * 128, &args.map_a[box], barrier, k,
                   tile.row0 + at);
    at += grouped_box(box);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_produce(const GroupedArgs& args, const GroupedTiles& table,
                                                const GroupedShares& shares,
                                                GemmPipeline<Config> ring) {
  GroupedWork work(shares);
  StreamItem item;
  while (work.next(shares, &item)) {
    const GroupedSpot tile = grouped_spot<Config>(args, table, shares, item.unit);
    const i32 lines = grouped_lines(tile);
    const u32 bytes = Config::kShared.a_bytes + static_cast<u32>(lines) * 128;
#pragma unroll 1
    for (i32 block = item.begin; block < item.end; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), bytes);
      grouped_load_weights<Config>(args, ring, tile, block * Config::kTileK);
      grouped_load_rows<Config>(args, ring, tile, lines, block * Config::kTileK);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
}

// Threads of the producer's warpgroup; each arrives at the full barrier when its copies are
// complete. The copies are ordinary writes, but the tensor cores read through the async proxy. So
// the consumers execute the proxy fence (GemmPipeline::landed). In the producer, the fence would
// wait for all copies in flight.
inline constexpr u32 kGatherThreads = 128;

// Copies a k block of a tile's rows, with the swizzle of the TMA. `rows` is the shared address of
// the row numbers of A; -1: zeros. k is a multiple of 8. A few row numbers are read at a time: if
// each copy waited for its own, a wide tile's k block would take longer to copy than to multiply.
template <class Config>
__device__ __forceinline__ void grouped_copy_rows(const GroupedArgs& args,
                                                  const GemmPipeline<Config>& ring, u32 rows,
                                                  i32 lines, i32 k) {
  constexpr u32 kTogether = 4, kStep = kGatherThreads / 8;
  const u32 piece = threadIdx.x % 8;
  const i32 from = k + static_cast<i32>(piece) * 8;
  const u32 bytes = static_cast<u32>(min(max(args.k - from, 0), 8)) * 2;
#pragma unroll 1
  for (u32 first = threadIdx.x / 8; first < static_cast<u32>(lines); first += kTogether * kStep) {
    i32 row[kTogether];
#pragma unroll
    for (u32 i = 0; i < kTogether; ++i)
      row[i] = first + i * kStep < static_cast<u32>(lines)
                   ? static_cast<i32>(ptx::shared_load<4>(rows + (first + i * kStep) * 4))
                   : -1;
#pragma unroll
    for (u32 i = 0; i < kTogether; ++i) {
      const u32 line = first + i * kStep;
      if (line >= static_cast<u32>(lines)) break;
      const bool inside = row[i] >= 0 && bytes > 0;
      ptx::async_copy<16>(ring.b() + line * 128 + (piece ^ line % 8) * 16,
                          args.a + static_cast<u64>(inside ? row[i] * args.a_pitch + from : 0) * 2,
                          inside ? bytes : 0);
    }
  }
}

template <class Config>
__device__ __forceinline__ void grouped_gather(const GroupedArgs& args, const GroupedTiles& table,
                                               const GroupedShares& shares,
                                               GemmPipeline<Config> ring, u32 rows) {
  constexpr u32 kBarrier = 2;
  GroupedWork work(shares);
  StreamItem item;
  while (work.next(shares, &item)) {
    const GroupedSpot tile = grouped_spot<Config>(args, table, shares, item.unit);
    const i32 lines = grouped_lines(tile);
    ptx::named_barrier(kBarrier, kGatherThreads);  // the previous tile is copied
    for (auto i = static_cast<i32>(threadIdx.x); i < lines; i += kGatherThreads) {
      const i32 r = tile.row0 + i;
      ptx::shared_store<4>(rows + static_cast<u32>(i) * 4,
                           static_cast<u32>(r < tile.end ? grouped_a_row(args, r) : -1));
    }
    ptx::named_barrier(kBarrier, kGatherThreads);
#pragma unroll 1
    for (i32 block = item.begin; block < item.end; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), Config::kShared.a_bytes);
        grouped_load_weights<Config>(args, ring, tile, block * Config::kTileK);
      }
      grouped_copy_rows<Config>(args, ring, rows, lines, block * Config::kTileK);
      ptx::mbarrier_arrive_copies(ring.full_barrier(ring.stage));
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
}

}  // namespace tw
