// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves rows by index through ordinary loads and stores, at any width, pitch and alignment.
//
// The units of all rows are numbered along the packed operand. A block moves a contiguous range of
// units and ends. Each thread moves a few units that are blockDim.x apart, and issues all its loads
// before its first store. Short blocks in memory order keep the accesses in flight close together,
// which DRAM serves faster than the spread accesses of a persistent grid.

#include "kernels/rows/row_index.cuh"

namespace tw {

template <int kBytes, bool kGather>
__device__ __forceinline__ void plain_block(const RowsArgs& args, u32 units, u32 first) {
  const u32 row_units = static_cast<u32>(args.row_units);
  u64 from[kRowsPlainFlight];  // 0: nothing is read
  u64 to[kRowsPlainFlight];    // 0: nothing is written
#pragma unroll
  for (u32 k = 0; k < kRowsPlainFlight; ++k) {
    const u32 unit = first + threadIdx.x + k * blockDim.x;
    from[k] = to[k] = 0;
    if (unit >= units) continue;
    const u32 r = divide(unit, args.part_divider);
    const u64 i = static_cast<u64>(args.first_row) + r;
    const u64 inside = static_cast<u64>(unit - r * row_units) * kBytes;
    const i64 row = table_row_of(args, i);
    const u64 packed = args.packed + i * static_cast<u64>(args.packed_pitch) + inside;
    const u64 table =
        row == kNoRow ? 0 : args.table + static_cast<u64>(row * args.table_pitch) + inside;
    from[k] = kGather || row == kNoRow ? table : packed;
    to[k] = kGather ? packed : table;
  }
  ptx::Unit<kBytes> value[kRowsPlainFlight];
#pragma unroll
  for (u32 k = 0; k < kRowsPlainFlight; ++k) {
    value[k] = ptx::Unit<kBytes>{};
    if (from[k] != 0) value[k] = ptx::load_unit<kBytes>(from[k]);
  }
#pragma unroll
  for (u32 k = 0; k < kRowsPlainFlight; ++k)
    if (to[k] != 0) ptx::store_unit<kBytes>(to[k], value[k]);
}

template <int kBytes, bool kGather>
__device__ __forceinline__ void plain_units(const RowsArgs& args) {
  const i64 left = run_count(args) - args.first_row;
  if (left <= 0) return;
  const u64 per_block = static_cast<u64>(blockDim.x) * kRowsPlainFlight;
  const u32 units =
      static_cast<u32>(min(left, args.launch_rows)) * static_cast<u32>(args.row_units);
  // In 64 bits, because the last step may exceed 2^32. One iteration unless the grid is limited.
  for (u64 base = blockIdx.x; base * per_block < units; base += gridDim.x)
    plain_block<kBytes, kGather>(args, units, static_cast<u32>(base * per_block));
}

template <bool kGather>
__device__ __forceinline__ void rows_plain(const RowsArgs& args) {
  switch (args.unit_bytes) {
    case 1:
      return plain_units<1, kGather>(args);
    case 2:
      return plain_units<2, kGather>(args);
    case 4:
      return plain_units<4, kGather>(args);
    case 8:
      return plain_units<8, kGather>(args);
    default:
      return plain_units<16, kGather>(args);
  }
}

}  // namespace tw
