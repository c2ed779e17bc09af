// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the mma.sync kernels for grouped products share: which tile a block multiplies next, and how
// a tile of D is written if groups are ranges of k.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/gemm/mma/plain_loop.cuh"
#include "kernels/grouped/grouped_fetch.cuh"
#include "kernels/grouped/grouped_table.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

// A row index beyond every operand. The row is loaded as zeros.
inline constexpr i32 kGroupedNoRow = 0x7fffffff;

struct GroupedMmaTile {
  i32 group, weight_index;  // the group, and the index of its weight matrix
  i32 row0, rows;           // first row, among the run's rows, and the number of rows
  i32 column0;              // first column of B, see grouped_column()
};

/// The tiles of a group and the band of their order, in the fields that gemm_unit() reads.
struct GroupedTileOrder {
  i32 units_m, units_n, band;
};
template <i32 kTile = kPlainTile>
__device__ __forceinline__ i32 grouped_tile_count(i32 extent) {
  return extent / kTile + (extent % kTile != 0 ? 1 : 0);
}

template <i32 kRows, i32 kColumns>
__device__ __forceinline__ void grouped_make_tile_table(const GroupedArgs& args,
                                                        GroupedTileTable& table) {
  grouped_make_table(table, args.group_count, [&](i32 g) {
    const GroupRows rows = grouped_multiplied_rows(args, g);
    return static_cast<i64>(grouped_tile_count<kRows>(rows.end - rows.begin)) *
           grouped_tile_count<kColumns>(args.n);
  });
}

template <i32 kRows, i32 kColumns>
__device__ __forceinline__ GroupedMmaTile grouped_mma_tile(const GroupedArgs& args,
                                                           const GroupedTileTable& table,
                                                           i64 tile) {
  const i32 g = grouped_group_of_tile(table, args.group_count, tile);
  const GroupRows rows = grouped_multiplied_rows(args, g);
  GroupedTileOrder order = {grouped_tile_count<kRows>(rows.end - rows.begin),
                            grouped_tile_count<kColumns>(args.n), args.band};
  if (order.band <= 0 || order.band > order.units_m) order.band = order.units_m;
  i32 row = 0, column = 0;
  gemm_unit(order, static_cast<i32>(tile - table.first_tile[g]), &row, &column);
  const i32 row0 = rows.begin + row * kRows;
  return {g, grouped_weight_index(args, g), row0, min(rows.end - row0, kRows), column * kColumns};
}

/// The column of B that is column `i` of a tile. With kGateHalves a tile has gate columns, then as
/// many linear columns, which the activated gates multiply.
template <i32 kColumns>
__device__ __forceinline__ i32 grouped_column(const GroupedArgs& args, i32 column0, i32 i) {
  if (args.gate != kGateHalves) return column0 + i;
  return column0 / 2 + (i < kColumns / 2 ? i : args.n / 2 + i - kColumns / 2);
}

/// Writes a tile's accumulators, which are in shared memory, to the group's D at address `d`.
template <i32 kRows = kPlainTile, i32 kColumns = kPlainTile, i32 kPitch = kFullPlainPitch>
__device__ __forceinline__ void ranges_write_tile(const GroupedArgs& args, u64 d,
                                                  const float* accumulators, i32 row0,
                                                  i32 column0) {
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < kRows * kColumns / 8;
       item += static_cast<i32>(kPlainThreads)) {
    const i32 row = item / (kColumns / 8), column = item % (kColumns / 8) * 8;
    const i32 count = args.n - (column0 + column);
    if (row0 + row >= args.m || count <= 0) continue;
    const i64 element = (row0 + row) * args.d_pitch + column0 + column;
    ranges_write_eight(args, d + static_cast<u64>(element * 4), count,
                       accumulators + row * kPitch + column);
  }
}

}  // namespace tw
