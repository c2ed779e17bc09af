// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the steps and methods that gather and scatter have in common.

#include "kernels/rows/rows.h"

namespace tw {

/// Arguments of kRowsOutside, which counts indices without a row.
struct OutsideArgs {
  RowsArgs rows;
  u64 counter;  // address of a 64-bit counter to which the kernel adds
};
static_assert(sizeof(OutsideArgs) == sizeof(RowsArgs) + 8, "the device sees the host's layout");

/// Arguments of kRowsFew, which moves a few long rows. All arguments fit in 64 bytes, because
/// reading them dominates such a short launch. blockIdx.x is the packed row, blockIdx.y its piece.
struct FewArgs {
  u64 table;  // first column that is moved
  u64 index;
  u64 packed;
  i64 table_rows;
  i64 table_pitch;  // bytes; all pitches and addresses are multiples of 16
  i64 packed_pitch;
  u32 row_units;  // of 16 bytes each
  u32 index_bytes;
  u64 count;  // read by the host body only; kernels use the grid size
};
static_assert(sizeof(FewArgs) == 64, "the device sees the host's layout");

/// Arguments of kRowsFour, which moves four rows per instruction. `map` describes the table with
/// boxes of one row and part_columns columns; `column` is the window's first column. Both count
/// elements of the map. rows.packed points to column 0 of the packed operand.
struct FourArgs {
  RowsArgs rows;
  i32 column;
  i32 part_columns;
  KernelMap map;
};
static_assert(sizeof(FourArgs) == 384, "the device sees the host's layout");
static_assert(__builtin_offsetof(FourArgs, map) == 256, "as above");

}  // namespace tw
