// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows by index where something is computed on the way: a group of `lanes` threads takes a row, or
// a part of one, and every thread four such at once, so that four loads are in flight before the
// first store.

#include "kernels/rows/row_index.cuh"

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

}  // namespace tw
