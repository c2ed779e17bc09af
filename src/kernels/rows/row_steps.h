// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the steps and methods that both families have.

#include "kernels/rows/rows.h"

namespace tw {

struct OutsideArgs {
  RowsArgs rows;
  u64 counter;  // a 64-bit word, to which the number is added
};
static_assert(sizeof(OutsideArgs) == sizeof(RowsArgs) + 8, "the device sees the host's layout");

/// Few rows: all that such a short launch reads, in 64 bytes of its parameters. Block x is a row,
/// block y a piece of it.
struct FewArgs {
  u64 table;  // of the first column that is moved
  u64 index;
  u64 packed;
  i64 table_rows;
  i64 table_pitch;  // bytes, multiples of 16 as all of these
  i64 packed_pitch;
  u32 row_units;  // of 16 bytes
  u32 index_bytes;
  u64 count;  // of the host body; the grid says it to the device
};
static_assert(sizeof(FewArgs) == 64, "the device sees the host's layout");

/// Four rows an instruction: `map` is the table with boxes of one row, part_columns wide; `column`
/// is the window's first. Both count the map's elements. rows.packed is column 0 of the packed
/// operand.
struct FourArgs {
  RowsArgs rows;
  i32 column;
  i32 part_columns;
  KernelMap map;
};
static_assert(sizeof(FourArgs) == 384, "the device sees the host's layout");
static_assert(__builtin_offsetof(FourArgs, map) == 256, "as above");

}  // namespace tw
