// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the mma.sync kernels for grouped products share: which tile a block multiplies next, and how
// a tile of a range of k is written.

#include "kernels/gemm/mma/plain_loop.cuh"
#include "kernels/grouped/grouped_fetch.cuh"
#include "kernels/grouped/grouped_table.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

// A row number outside every operand, which is loaded as zeros.
inline constexpr i32 kGroupedNoRow = 0x7fffffff;

/// A tile: its group and the group's weight matrix, its rows of the run, and its first column of B.
struct GroupedAt {
  i32 group, weight;
  i32 row0, rows;
  i32 n0;
};

/// The tiles of a group, with the fields that gemm_unit() reads.
struct GroupedWalk {
  i32 units_m, units_n, band;
};
template <i32 kTile = kPlainTile>
__device__ __forceinline__ i32 grouped_tiles(i32 extent) {
  return extent / kTile + (extent % kTile != 0 ? 1 : 0);
}

template <i32 kRows, i32 kColumns>
__device__ __forceinline__ void grouped_make_tiles(const GroupedArgs& args, GroupedTable& table) {
  grouped_make_table(table, args.group_count, [&](i32 g) {
    const GroupRows rows = grouped_live_rows(args, g);
    return static_cast<i64>(grouped_tiles<kRows>(rows.end - rows.begin)) *
           grouped_tiles<kColumns>(args.n);
  });
}

template <i32 kRows, i32 kColumns>
__device__ __forceinline__ GroupedAt grouped_at(const GroupedArgs& args, const GroupedTable& table,
                                                i64 item) {
  const i32 g = grouped_find(table, args.group_count, item);
  const GroupRows rows = grouped_live_rows(args, g);
  GroupedWalk walk = {grouped_tiles<kRows>(rows.end - rows.begin), grouped_tiles<kColumns>(args.n),
                      args.band};
  if (walk.band <= 0 || walk.band > walk.units_m) walk.band = walk.units_m;
  i32 row = 0, column = 0;
  gemm_unit(walk, static_cast<i32>(item - table.first[g]), &row, &column);
  const i32 row0 = rows.begin + row * kRows;
  return {g, grouped_weight(args, g), row0, min(rows.end - row0, kRows), column * kColumns};
}

/// The column of B of a tile's column `i`. With kGateHalves a tile has gates, then linear columns.
template <i32 kColumns>
__device__ __forceinline__ i32 grouped_column(const GroupedArgs& args, i32 n0, i32 i) {
  if (args.gate != kGateHalves) return n0 + i;
  return n0 / 2 + (i < kColumns / 2 ? i : args.n / 2 + i - kColumns / 2);
}

template <i32 kRows = kPlainTile, i32 kColumns = kPlainTile, i32 kPitch = kFullPlainPitch>
__device__ __forceinline__ void ranges_put(const GroupedArgs& args, u64 d, const float* sums,
                                           i32 m0, i32 n0) {
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < kRows * kColumns / 8;
       item += static_cast<i32>(kPlainThreads)) {
    const i32 row = item / (kColumns / 8), column = item % (kColumns / 8) * 8;
    const i32 count = args.n - (n0 + column);
    if (m0 + row >= args.m || count <= 0) continue;
    const i64 element = (m0 + row) * args.d_pitch + n0 + column;
    ranges_write(args, d + static_cast<u64>(element * 4), count, sums + row * kPitch + column);
  }
}

}  // namespace tw
