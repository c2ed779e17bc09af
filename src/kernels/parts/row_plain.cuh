// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows by index through plain loads and stores: any width, pitch and alignment.
//
// A group of `lanes` threads takes a row, or a part of one, and every thread four such at once, so
// that four loads are in flight before the first store.

#include "kernels/parts/row_index.cuh"

namespace tw {

inline constexpr int kRowsPlainFlight = 4;

/// Where a thread's unit goes; `row` is -1 where the index names no row, or where there are
/// several, in sums.
struct PlainPlace {
  u64 i;  // of the packed row
  u64 packed;
  u64 offset;  // into a row
  i64 row;
  bool real;
};

__device__ __forceinline__ PlainPlace plain_place(const RowsArgs& args, u64 item, u64 items) {
  if (item >= items) return {0, 0, 0, kNoRow, false};
  u64 number = item;
  u64 part = 0;
  if (args.parts > 1) {
    // The planner takes more lanes where there would be kDividerLimit parts.
    number = divide(static_cast<u32>(item), args.part_divider);
    part = item - number * args.parts;
  }
  const u64 unit = part * args.lanes + threadIdx.x % args.lanes;
  if (unit >= args.row_units) return {0, 0, 0, kNoRow, false};
  const i64 row = args.group == 1 ? named_row(args, number) : kNoRow;
  const u64 offset = unit * args.unit_bytes;
  return {number, args.packed + number * static_cast<u64>(args.packed_pitch) + offset, offset, row,
          true};
}

template <int kBytes, bool kGather>
__device__ __forceinline__ void plain_units(const RowsArgs& args) {
  const u32 groups = kRowsPlainThreads / args.lanes;
  const u64 step = static_cast<u64>(gridDim.x) * groups;
  const u64 items = static_cast<u64>(run_count(args)) * args.parts;
  for (u64 item = static_cast<u64>(blockIdx.x) * groups + threadIdx.x / args.lanes; item < items;
       item += kRowsPlainFlight * step) {
    PlainPlace place[kRowsPlainFlight];
    ptx::Unit<kBytes> value[kRowsPlainFlight];
#pragma unroll
    for (int k = 0; k < kRowsPlainFlight; ++k)
      place[k] = plain_place(args, item + static_cast<u64>(k) * step, items);
#pragma unroll
    for (int k = 0; k < kRowsPlainFlight; ++k) {
      value[k] = ptx::Unit<kBytes>{};
      if (place[k].row < 0) continue;
      const u64 table =
          args.table + static_cast<u64>(place[k].row * args.table_pitch) + place[k].offset;
      value[k] = ptx::load_unit<kBytes>(kGather ? table : place[k].packed);
      if constexpr (!kGather) place[k].packed = table;
    }
#pragma unroll
    for (int k = 0; k < kRowsPlainFlight; ++k)
      if (kGather ? place[k].real : place[k].row >= 0)
        ptx::store_unit<kBytes>(place[k].packed, value[k]);
  }
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
