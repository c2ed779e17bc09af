// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producers of the grouped wgmma kernels. The TMA loads weights and, unless they are gathered,
// the rows of a tile, in boxes of 8 to 128 rows, so that a short group loads few bytes. Gathered
// rows are copied by all 128 threads of the producer warpgroup, 16 bytes at a time, because issuing
// a bulk copy per row would take longer than multiplying a k block.

#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/grouped/grouped_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Rows of A that a tile loads: its rows, rounded up to the swizzle's eight.
__device__ __forceinline__ i32 grouped_lines(const GroupedSpot& tile) {
  return (tile.end - tile.row0 + 7) / 8 * 8;
}

// Loads a k block of the tile's weights. Gated columns that are contiguous along k are loaded as
// eight gates and eight linear columns in turn, through a map with five dimensions:
// {k, 8 columns of a kind, the two kinds, groups of 8, weights}.
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

// Threads of the producer warpgroup, which arrive at a full barrier when their copies have landed.
// Their copies are generic-proxy writes, but wgmma reads through the async proxy. The consumers
// issue the fence between them (GemmPipeline::landed), because in a producer it would wait for all
// copies in flight.
inline constexpr u32 kGatherThreads = 128;

// Copies a k block of a tile's rows, with the swizzle of the TMA. `rows` is the shared-memory
// address of each one's row of A, -1 for zeros. k is a multiple of a piece's elements. Rows are
// looked up a few at a time: one by one, each copy would wait for shared memory, and a wide tile's
// k block would take longer to issue than to multiply.
template <class Config>
__device__ __forceinline__ void grouped_copy_rows(const GroupedArgs& args,
                                                  const GemmPipeline<Config>& ring, u32 rows,
                                                  i32 lines, i32 k) {
  constexpr u32 kTogether = Config::kScaled ? 2 : 4, kStep = kGatherThreads / 8;
  constexpr u32 kElement = Config::In::kBytes;
  constexpr i32 kOfPiece = 16 / kElement;
  const u32 piece = threadIdx.x % 8;
  const i32 from = k + static_cast<i32>(piece) * kOfPiece;
  const u32 bytes = static_cast<u32>(min(max(args.k - from, 0), kOfPiece)) * kElement;
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
      ptx::async_copy<16>(
          ring.b() + line * 128 + (piece ^ line % 8) * 16,
          args.a + static_cast<u64>(inside ? row[i] * args.a_pitch + from : 0) * kElement,
          inside ? bytes : 0);
    }
  }
}

// The rows of A of a tile's rows, for those who copy them.
template <class Config>
__device__ __forceinline__ void grouped_look_up(const GroupedArgs& args, const GroupedSpot& tile,
                                                u32 rows, i32 lines) {
  constexpr u32 kBarrier = 2;
  ptx::named_barrier(kBarrier, kGatherThreads);  // the tile before is copied
  for (auto i = static_cast<i32>(threadIdx.x); i < lines; i += kGatherThreads) {
    const i32 r = tile.row0 + i;
    ptx::shared_store<4>(rows + static_cast<u32>(i) * 4,
                         static_cast<u32>(r < tile.end ? grouped_a_row(args, r) : -1));
  }
  ptx::named_barrier(kBarrier, kGatherThreads);
}

template <class Config>
__device__ __forceinline__ void grouped_gather(const GroupedArgs& args, const GroupedTiles& table,
                                               const GroupedShares& shares,
                                               GemmPipeline<Config> ring, u32 rows) {
  GroupedWork work(shares);
  StreamItem item;
  while (work.next(shares, &item)) {
    const GroupedSpot tile = grouped_spot<Config>(args, table, shares, item.unit);
    const i32 lines = grouped_lines(tile);
    grouped_look_up<Config>(args, tile, rows, lines);
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
