// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows by index: arguments of the gather and scatter kernels.
//
// Row i of the packed operand corresponds to row index[i] of the table; both are `row_bytes` long.
// An index is without a row if it is outside [0, table_rows): a gather writes zeros for it, a
// scatter writes nothing.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// KernelEntry::variant of both families: the method, or the step of a run.
enum : u32 {
  kRowsBulk = 1,        // rows through per-warp pipelines by bulk copies
  kRowsPlain = 2,       // any rows by ordinary loads and stores
  kRowsShift = 3,       // misaligned rows, realigned in registers
  kRowsFour = 5,        // four rows per instruction, by gather4 or scatter4
  kRowsSum = 6,         // gather: weighted rows or sums of `group` rows, through pipelines
  kRowsSumPlain = 7,    // the same by ordinary loads and stores
  kRowsBulkReduce = 8,  // scatter: reductions by bulk copies
  kRowsReduce = 9,      // scatter: one reduction per element
  // Scatter: sorts 128 consecutive indices (kRowsSortTile) by table row and divides them into
  // shares. Within a share, sums the packed rows that go to the same table row, and adds each sum
  // by one reduction.
  kRowsSorted = 10,
  // Short aligned rows: ordinary loads or stores of table rows, bulk copies of packed rows.
  kRowsStaged = 11,
  kRowsFew = 12,  // few long rows: one block per piece, few parameters
  // Steps before or after the main kernel.
  kRowsOutside = 16,  // counts indices without a row
  kRowsMargin = 17,   // gather: zeros where the window extends beyond the table
  // Steps of a scatter in which the last of equal indices wins.
  kRowsClear = 18,  // clears the winners
  kRowsMark = 19,   // determines the winners
  // Steps of a scatter with deterministic sums, which sorts the indices.
  kRowsCount = 20,    // counts the digits of a sort pass
  kRowsScan = 21,     // turns the counts into the first position of each digit
  kRowsPlace = 22,    // moves the indices to their positions
  kRowsSegment = 23,  // sums the packed rows for one table row within a segment of sorted indices
  kRowsJoin = 24,     // adds up the sums of table rows whose indices span segments
};

inline constexpr u32 kRowsMaxPipelineWarps = 16;  // per block; each warp has a pipeline of its own
inline constexpr u32 kRowsPiecesPerLane = 4;      // per stage, at most
inline constexpr u32 kRowsBlockThreads = 256;     // of kernels without a number of their own
inline constexpr u32 kRowsPlainThreads = 256;     // of kRowsPlain, at most
inline constexpr u32 kRowsPlainFlight = 4;        // units that each of those threads moves
inline constexpr u32 kRowsMaxStagePieces = 32 * kRowsPiecesPerLane;
inline constexpr u32 kRowsFewThreads = 512;  // at most
inline constexpr u32 kRowsFewFlight = 2;     // 16-byte units that each of those threads moves
inline constexpr u32 kRowsSortTile = 128;    // indices that a block sorts in shared memory
inline constexpr u32 kRowsScanThreads = 1024;

/// Element types of the arithmetic on rows.
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

/// Bulk kernels (kRowsBulk and others with a pipeline) need addresses, pitches and `row_bytes` that
/// are multiples of 16. They move pieces: whole rows, or `parts` parts of `part_bytes` (the last of
/// `last_bytes`). A stage holds `stage_pieces` consecutive pieces. If the packed rows are
/// contiguous (`dense`), one bulk copy moves the packed rows of a stage. If `group` is above 1, a
/// gather sums the rows index[i * group] to index[i * group + group - 1] into packed row i; pieces
/// are then numbered (row, part, member), the last fastest.
///
/// Kernels with ordinary loads move units of `unit_bytes`, `row_units` per row. Some have `lanes`
/// threads (a power of two) per row, which cover it in `parts` steps.
///
/// The fields that kRowsPlain reads come first, because a launch reads its parameters through a
/// cold cache, 64 bytes at a time.
struct RowsArgs {
  u64 table;  // first column that is moved
  u64 index;
  u64 packed;
  u64 count_at;  // address of the number of packed rows, in the indices' type; 0: use `count`
  u64 winners;   // one u32 per row of the table: the index number that may write it; 0: all may
  i64 count;     // number of packed rows, or its upper limit
  i64 table_rows;
  i64 table_pitch;   // bytes
  i64 packed_pitch;  // bytes
  i64 first_row;     // first packed row of this launch
  i64 launch_rows;   // rows of this launch, so that kRowsPlain has fewer than kDividerLimit units
  u64 row_units;
  // The divisor is parts * group; with `lanes` it is parts, for kRowsPlain row_units.
  Divider part_divider;
  unsigned short index_bytes;  // 4 or 8
  unsigned short unit_bytes;   // 1, 2, 4, 8 or 16
  u64 weights;                 // one f32 per index; 0: all are 1
  u64 row_bytes;               // of the moved columns of a packed row
  u32 parts;
  u32 part_bytes;
  u32 last_bytes;
  u32 stage_pieces;
  u32 stage_bytes;  // for the pieces only; a kernel's notes per stage come on top
  u32 stages;
  u32 dense;
  u32 lanes;
  u64 read_low;  // the source operand occupies [read_low, read_high)
  u64 read_high;
  Divider group_divider;
  u32 group;
  Divider unit_divider;  // by the 16-byte units of a part
  u32 op;
  u32 element;         // type of the table's elements, a kElement value
  u32 packed_element;  // of the packed operand: equal to `element`, or f16/bf16 with an f32 table
  u64 read_policy;     // L2 cache policies of reads and of writes
  u64 write_policy;
  u32 block_items;  // consecutive stages per block; 0: blocks take stages in turn
  u32 reserved;
};
static_assert(sizeof(RowsArgs) == 240, "host and device must agree on the layout");
static_assert(__builtin_offsetof(RowsArgs, part_divider) == 96, "as above");
static_assert(__builtin_offsetof(RowsArgs, weights) == 112, "as above");
static_assert(__builtin_offsetof(RowsArgs, read_low) == 160, "as above");

/// Bytes per stage for the row number and the weight of each piece, which the stores need.
TW_KERNEL_HD constexpr u32 rows_note_bytes(u32 stage_pieces) {
  return (stage_pieces * 12 + 127) / 128 * 128;
}

}  // namespace tw
