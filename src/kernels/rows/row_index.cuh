// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads indices, their number and their weights from device memory.

#include "kernels/ptx/global.cuh"
#include "kernels/rows/row_schedule.h"

namespace tw {

inline constexpr i64 kNoRow = -1;

/// Reads index number i, sign-extended to 64 bits.
__device__ __forceinline__ i64 load_index(u64 address, u32 index_bytes, u64 i) {
  if (index_bytes == 8) return static_cast<i64>(ptx::load_unit_cached<8>(address + i * 8));
  return static_cast<i32>(ptx::load_unit_cached<4>(address + i * 4));
}

__device__ __forceinline__ i64 run_count(const RowsArgs& args) {
  if (args.count_at == 0) return args.count;
  return clamped_count(load_index(args.count_at, args.index_bytes, 0), args.count);
}

/// Returns the table row that index number i names, or kNoRow: if the row is outside the table, or
/// if another index with the same row wins (RowsArgs::winners).
__device__ __forceinline__ i64 table_row_of(const RowsArgs& args, u64 i) {
  const i64 row = checked_row(load_index(args.index, args.index_bytes, i), args.table_rows);
  if (args.winners == 0 || row < 0) return row;
  return ptx::load_unit_cached<4>(args.winners + static_cast<u64>(row) * 4) == i ? row : kNoRow;
}

__device__ __forceinline__ float index_weight(const RowsArgs& args, u64 i) {
  return args.weights == 0 ? 1.0f : __uint_as_float(ptx::load_unit_cached<4>(args.weights + i * 4));
}

}  // namespace tw
