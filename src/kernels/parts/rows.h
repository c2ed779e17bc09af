// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows by index: what the gather and scatter families are launched with.
//
// Row i of the packed operand and row index[i] of the table, each `row_bytes` long. An index
// outside [0, table_rows) names no row: a gather writes zeros for it, a scatter writes nothing.

#include "kernels/arguments.h"
#include "kernels/parts/divide.h"

namespace tw {

/// KernelRow::variant of both families: how a row works.
enum : u32 { kRowsBulk = 1, kRowsPlain = 2, kRowsShift = 3, kRowsNarrow = 4 };

inline constexpr u32 kRowsMaxRingWarps = 16;  // of a block; each has a ring of its own
inline constexpr u32 kRowsPiecesOfLane = 4;   // of one stage, at most
inline constexpr u32 kRowsPlainThreads = 256;
inline constexpr u32 kRowsTile = 64;  // neighbouring rows that a warp takes at once, if narrow
inline constexpr u32 kRowsMaxStagePieces = 32 * kRowsPiecesOfLane;

/// A piece is a row, or a part of a long one: `parts` of `part_bytes`, the last of `last_bytes`.
/// Bulk rows of the table need addresses, pitches and `row_bytes` that are multiples of 16; they
/// move `stage_pieces` neighbouring pieces at once, with one bulk copy on the packed side where its
/// rows touch (`dense`). Plain rows move units of `unit_bytes`, `row_units` a row; `lanes` threads,
/// a power of two, serve a row side by side in `parts` steps.
struct RowsArgs {
  u64 table;  // of the first column that is moved
  u64 index;
  u64 packed;
  i64 count;
  i64 table_rows;
  i64 table_pitch;   // bytes
  i64 packed_pitch;  // bytes
  u64 row_bytes;
  u32 index_bytes;  // 4 or 8
  u32 parts;
  u32 part_bytes;
  u32 last_bytes;
  u32 stage_pieces;
  u32 stage_bytes;  // of the pieces; what a kernel keeps with them comes on top
  u32 stages;
  u32 dense;
  u32 unit_bytes;  // 1, 2, 4, 8 or 16
  u32 lanes;
  u64 row_units;
  Divider part_divider;  // by `parts`, where count * parts is below kDividerLimit
  u32 tile_rows;         // of a warp, kRowsTile at most; part_divider divides by row_units then
  u64 read_low;          // the operand that is read lies in [read_low, read_high)
  u64 read_high;
};
static_assert(sizeof(RowsArgs) == 144, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(RowsArgs, index_bytes) == 64, "as above");
static_assert(__builtin_offsetof(RowsArgs, row_units) == 104, "as above");
static_assert(__builtin_offsetof(RowsArgs, part_divider) == 112, "as above");

/// Bytes that the ring keeps beside a stage's pieces: the row number of each, for the stores.
TW_KERNEL_HD constexpr u32 rows_note_bytes(u32 stage_pieces) {
  return (stage_pieces * 8 + 127) / 128 * 128;
}

}  // namespace tw
