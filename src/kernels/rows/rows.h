// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows by index: what the gather and scatter families are launched with.
//
// Row i of the packed operand and row index[i] of the table, each `row_bytes` long. An index
// outside [0, table_rows) names no row: a gather writes zeros for it, a scatter writes nothing.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// KernelRow::variant of both families: how a row works, or what step of a run it is.
enum : u32 {
  kRowsBulk = 1,        // rows through rings of shared memory by bulk copies
  kRowsPlain = 2,       // any rows by plain loads and stores
  kRowsShift = 3,       // misaligned rows, realigned in registers
  kRowsFour = 5,        // four rows an instruction, by tensor map
  kRowsSum = 6,         // gather: weighted rows, or sums of `group` of them, through rings
  kRowsSumPlain = 7,    // the same by plain loads and stores
  kRowsBulkReduce = 8,  // scatter: reductions by bulk copies
  kRowsReduce = 9,      // scatter: a reduction an element
  kRowsSorted = 10,     // scatter: sums of equal rows of a tile, one reduction each
  kRowsStaged = 11,     // short aligned rows: threads on the table's side, bulk copies on the other
  kRowsFew = 12,        // few long rows: a block a piece, and as few parameters as it takes
  // Steps that come before or after.
  kRowsOutside = 16,  // counts indices that name no row
  kRowsMargin = 17,   // gather: zeros where the window hangs over the table
  kRowsClear = 18,    // scatter, the last of equal indices wins: forgets the winners
  kRowsMark = 19,     // and finds them
  kRowsCount = 20,    // scatter, deterministic sums: digits of a pass of the sort
  kRowsScan = 21,     // where each digit begins
  kRowsPlace = 22,    // the pass itself
  kRowsSegment = 23,  // sums of equal rows within a tile of the sorted order
  kRowsJoin = 24,     // and of those that reach over tiles
};

inline constexpr u32 kRowsMaxRingWarps = 16;  // of a block; each has a ring of its own
inline constexpr u32 kRowsPiecesOfLane = 4;   // of one stage, at most
inline constexpr u32 kRowsPlainThreads = 256;
inline constexpr u32 kRowsLinearThreads = 256;  // of plain rows, at most
inline constexpr u32 kRowsLinearFlight = 4;     // units that a thread of them moves
inline constexpr u32 kRowsMaxStagePieces = 32 * kRowsPiecesOfLane;
inline constexpr u32 kRowsFewThreads = 512;  // at most
inline constexpr u32 kRowsFewFlight = 2;     // units of 16 bytes that each of them moves
inline constexpr u32 kRowsSortTile = 128;    // indices that a block sorts in shared memory
inline constexpr u32 kRowsScanThreads = 1024;

/// What arithmetic takes a row's elements for.
enum : u32 {
  kElementBits = 0,
  kElementF32 = 1,
  kElementF16 = 2,
  kElementBF16 = 3,
  kElementF64 = 4,
  kElementU32 = 5,
  kElementI32 = 6,
  kElementU64 = 7,
  kElementI64 = 8
};

/// What a scatter does with an element of the table.
enum : u32 { kReduceNone = 0, kReduceAdd = 1, kReduceMin = 2, kReduceMax = 3 };

/// A piece is a row, or a part of a long one: `parts` of `part_bytes`, the last of `last_bytes`.
/// Bulk rows of the table need addresses, pitches and `row_bytes` that are multiples of 16; they
/// move `stage_pieces` neighbouring pieces at once, with one bulk copy on the packed side where its
/// rows touch (`dense`). Plain rows move units of `unit_bytes`, `row_units` a row; `lanes` threads,
/// a power of two, serve a row side by side in `parts` steps.
///
/// With `group` above 1 a gather sums rows index[i * group ...] into row i of the packed operand;
/// pieces are then (row, part, member), the last fastest.
///
/// What plain rows read comes first: a launch reads its parameters through a cold cache, 64 bytes
/// at a time.
struct RowsArgs {
  u64 table;  // of the first column that is moved
  u64 index;
  u64 packed;
  u64 count_at;  // where the number of packed rows is read, of the indices' type; 0: `count`
  u64 winners;   // u32, one a row of the table: the index number that writes it; 0: all do
  i64 count;     // of packed rows, at most
  i64 table_rows;
  i64 table_pitch;   // bytes
  i64 packed_pitch;  // bytes
  i64 first_row;     // of the packed operand in this launch; plain rows have fewer units than
  i64 launch_rows;   // kDividerLimit in one
  u64 row_units;
  Divider part_divider;  // by parts * group, where pieces are fewer than kDividerLimit; rows by
                         // lanes by parts, plain ones by row_units
  unsigned short index_bytes;  // 4 or 8
  unsigned short unit_bytes;   // 1, 2, 4, 8 or 16
  u64 weights;                 // f32, one an index; 0: all are 1
  u64 row_bytes;               // of the packed operand
  u32 parts;
  u32 part_bytes;
  u32 last_bytes;
  u32 stage_pieces;
  u32 stage_bytes;  // of the pieces; what a kernel keeps with them comes on top
  u32 stages;
  u32 dense;
  u32 lanes;
  u64 read_low;  // the operand that is read lies in [read_low, read_high)
  u64 read_high;
  Divider group_divider;
  u32 group;
  Divider unit_divider;  // by the 16-byte units of a part
  u32 op;
  u32 element;         // of the table
  u32 packed_element;  // of the packed operand: f16 or bf16 beside an f32 table, or the same
  u64 read_policy;     // of the L2, for what is read; and for what is written
  u64 write_policy;
  u32 block_items;  // stages that a block takes, neighbours; 0: all blocks take turns
  u32 reserved;
};
static_assert(sizeof(RowsArgs) == 240, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(RowsArgs, part_divider) == 96, "as above");
static_assert(__builtin_offsetof(RowsArgs, weights) == 112, "as above");
static_assert(__builtin_offsetof(RowsArgs, read_low) == 160, "as above");

/// Bytes that the ring keeps beside a stage's pieces: the row number of each and its weight, for
/// the stores.
TW_KERNEL_HD constexpr u32 rows_note_bytes(u32 stage_pieces) {
  return (stage_pieces * 12 + 127) / 128 * 128;
}

}  // namespace tw
