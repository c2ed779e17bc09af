// SPDX-License-Identifier: Apache-2.0
#pragma once
// table[index[i], :] = packed[i, :], or table[index[i], :] op= packed[i, :] for a reduction. An
// index without a row writes nothing.

#include "kernels/rows/rows.h"

namespace tw {

using ScatterArgs = RowsArgs;

/// Arguments of kRowsSorted. A tile is kRowsSortTile consecutive indices. A unit of
/// `rows.unit_bytes` is one element of the packed operand, or 16 bytes. `lanes` threads (a power of
/// two) form a team, which processes the rows of its share of the tile's sorted indices.
struct SortedArgs {
  RowsArgs rows;
  u32 lanes;
  u32 units;       // per row
  u32 part_units;  // units per work item
  u32 parts;       // work items per tile
  Divider part_divider;
  u32 reserved;
};
static_assert(sizeof(SortedArgs) == sizeof(RowsArgs) + 32, "the device sees the host's layout");

inline constexpr u32 kSortDigits = 256;       // values of a digit: a pass sorts by 8 bits
inline constexpr u32 kSortBlockItems = 2048;  // indices that a block sorts in one pass
inline constexpr u32 kSegmentItems = 64;      // sorted indices that a warp sums
inline constexpr u32 kSegmentSteps = kSegmentItems / 32;

/// Arguments of the steps of a deterministic sum. Passes of 8 bits sort the index numbers stably by
/// row. Then the rows are summed in the sorted order.
struct OrderArgs {
  RowsArgs rows;
  u64 from;  // u32 index numbers in the order of the previous pass; 0: the identity
  u64 to;    // u32 index numbers in the order of this pass
  // u32 [digit][block]: how many indices have the digit. After the scan: the position of the first.
  u64 digit_counts;
  // f32, two slots of one row for each segment. Slot 0 has the sum of a table row that began in an
  // earlier segment, slot 1 that of a table row that begins in this segment and continues.
  u64 partials;
  u32 shift;   // position of the pass's bits in a row number
  u32 blocks;  // blocks per pass
  u32 units;   // per row
  u32 reserved;
};
static_assert(sizeof(OrderArgs) == sizeof(RowsArgs) + 48, "the device sees the host's layout");

/// Sort key: the row number. Indices without a row come last.
TW_KERNEL_HD inline u64 sort_key(i64 row, i64 rows) {
  return static_cast<u64>(row < 0 ? rows : row);
}

}  // namespace tw
