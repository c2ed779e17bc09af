// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work items of kernels that compute with rows in registers: args.lanes threads process an item, a
// row or a part of one. Each thread processes four items at once, so that four loads are in flight
// before the first store.

#include "kernels/rows/row_index.cuh"

namespace tw {

inline constexpr int kRowsLaneFlight = 4;

/// Position of a thread's unit. `row` is kNoRow if the index has no row, and in sums, where several
/// indices belong to one packed row.
struct LanePlace {
  u64 i;  // packed row
  u64 packed;
  u64 offset;  // into a row
  i64 row;
  bool has_unit;  // false: there is nothing for the thread
};

__device__ __forceinline__ LanePlace lane_place(const RowsArgs& args, u64 item, u64 items) {
  if (item >= items) return {0, 0, 0, kNoRow, false};
  u64 number = item;
  u64 part = 0;
  if (args.parts > 1) {
    // The planner increases `lanes` to keep the items below kDividerLimit.
    number = divide(static_cast<u32>(item), args.part_divider);
    part = item - number * args.parts;
  }
  const u64 unit = part * args.lanes + threadIdx.x % args.lanes;
  if (unit >= args.row_units) return {0, 0, 0, kNoRow, false};
  const i64 row = args.group == 1 ? table_row_of(args, number) : kNoRow;
  const u64 offset = unit * args.unit_bytes;
  return {number, args.packed + number * static_cast<u64>(args.packed_pitch) + offset, offset, row,
          true};
}

}  // namespace tw
