// SPDX-License-Identifier: Apache-2.0
#pragma once
// table[index[i], :] = packed[i, :], or op= where there is a reduction; nothing where index[i]
// names no row.

#include "kernels/rows/rows.h"

namespace tw {

using ScatterArgs = RowsArgs;

/// Sums of equal rows: units of the packed operand are `rows.unit_bytes`, an element or as many as
/// 16 bytes hold; `lanes` threads, a power of two, take a row's units side by side.
struct SortedArgs {
  RowsArgs rows;
  u32 lanes;
  u32 units;       // of a row
  u32 part_units;  // that one item of work covers
  u32 parts;       // items of a tile
  Divider part_divider;
  u32 reserved;
};
static_assert(sizeof(SortedArgs) == sizeof(RowsArgs) + 32, "the device sees the host's layout");

inline constexpr u32 kSortDigits = 256;       // of a pass
inline constexpr u32 kSortBlockItems = 2048;  // indices that a block sorts in a pass
inline constexpr u32 kSegmentItems = 64;      // sorted indices that a warp sums
inline constexpr u32 kSegmentSteps = kSegmentItems / 32;

/// A deterministic sum: index numbers are sorted by their rows, equal ones staying in order, in
/// passes of eight bits; then rows are summed in the order that they have.
struct OrderArgs {
  RowsArgs rows;
  u64 from;      // u32 index numbers in the order of the pass before; 0: as they are
  u64 to;        // likewise, of this pass
  u64 digits;    // u32 counts, digit by digit, each of all blocks
  u64 partials;  // f32, two rows a segment: the one that goes on from before, the one that goes on
  u32 shift;     // of the pass's bits in a row number
  u32 blocks;    // of a pass
  u32 units;     // of a row
  u32 reserved;
};
static_assert(sizeof(OrderArgs) == sizeof(RowsArgs) + 48, "the device sees the host's layout");

/// What a pass sorts by: rows by their number, indices that name none behind them.
TW_KERNEL_HD inline u64 sort_key(i64 row, i64 rows) {
  return static_cast<u64>(row < 0 ? rows : row);
}

}  // namespace tw
