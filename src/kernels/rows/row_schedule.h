// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of the row kernels, shared with the host bodies: which rows, and which bytes of them,
// are moved together, and which row an index stands for.

#include "kernels/rows/rows.h"

namespace tw {

/// Returns the row for an index, or -1 if it is outside the table. Compares all 64 bits, so that no
/// index wraps onto a row.
TW_KERNEL_HD inline i64 checked_row(i64 index, i64 rows) {
  return index >= 0 && index < rows ? index : -1;
}

/// Clamps a row count that was read from device memory to [0, maximum].
TW_KERNEL_HD inline i64 clamped_count(i64 wanted, i64 maximum) {
  return wanted < 0 ? 0 : wanted > maximum ? maximum : wanted;
}

/// A piece of a row: `bytes` bytes from `offset` on; 0 bytes if there is no piece. An index has the
/// number of its position: index number i is index[i]. Its value is a row of the table.
struct RowPiece {
  u64 packed_row;
  u64 index_number;  // of the index that names the piece's table row
  u64 offset;
  u32 bytes;
};

/// Number of pieces of a run. The planner keeps it below kDividerLimit if rows have several parts
/// or members.
TW_KERNEL_HD inline u64 total_pieces(const RowsArgs& args, i64 count) {
  return static_cast<u64>(count) * args.parts * args.group;
}

TW_KERNEL_HD inline RowPiece row_piece(const RowsArgs& args, u64 number, u64 total) {
  if (number >= total) return {0, 0, 0, 0};
  const u32 pieces_per_row = args.parts * args.group;
  if (pieces_per_row == 1) return {number, number, 0, args.last_bytes};
  const u32 small = static_cast<u32>(number);
  const u32 row = divide(small, args.part_divider);
  const u32 rest = small - row * pieces_per_row;
  const u32 part = divide(rest, args.group_divider);
  const u32 member = rest - part * args.group;
  return {row, static_cast<u64>(row) * args.group + member,
          static_cast<u64>(part) * args.part_bytes,
          part + 1 == args.parts ? args.last_bytes : args.part_bytes};
}

/// The packed row to which piece `first` of a stage belongs. Requires that a packed row is one
/// piece or one group.
TW_KERNEL_HD inline u64 packed_row_of(const RowsArgs& args, u64 first) {
  return args.group == 1 ? first : divide(static_cast<u32>(first), args.group_divider);
}

// gather4 and scatter4: four rows per instruction.

/// Hardware limits: rows per instruction, smallest table, smallest row, largest box.
inline constexpr u32 kFourRows = 4;
inline constexpr i64 kFourMinRows = 8;
inline constexpr i64 kFourMinBytes = 32;
inline constexpr i64 kFourMaxBox = 256;  // elements
/// Rows of a box are multiples of this many bytes, so that four rows keep the next group 128-byte
/// aligned.
inline constexpr u32 kFourRowMultiple = 32;

/// A stage of four-row boxes: index numbers `first` to first + rows - 1, all for one part of the
/// window. Groups of four rows follow one another; the rows of a group are part_bytes apart.
struct FourStage {
  u64 first;
  u32 rows;  // stage_pieces, a multiple of four; fewer in the last stage
  u32 part;
  u32 bytes;  // bytes of each row inside the window
};

/// Number of stages of a run. All parts of one set of rows precede those of the next set. The
/// planner keeps the number below kDividerLimit if rows have several parts.
TW_KERNEL_HD inline u64 four_stages(const RowsArgs& args, i64 count) {
  return (static_cast<u64>(count) + args.stage_pieces - 1) / args.stage_pieces * args.parts;
}
TW_KERNEL_HD inline FourStage four_stage(const RowsArgs& args, u64 number, i64 count) {
  const u64 tile = args.parts == 1 ? number : divide(static_cast<u32>(number), args.part_divider);
  const u32 part = static_cast<u32>(number - tile * args.parts);
  const u64 first = tile * args.stage_pieces;
  const u64 left = static_cast<u64>(count) - first;
  return {first, left < args.stage_pieces ? static_cast<u32>(left) : args.stage_pieces, part,
          part + 1 == args.parts ? args.last_bytes : args.part_bytes};
}
TW_KERNEL_HD inline u32 four_groups(const FourStage& stage) {
  return (stage.rows + kFourRows - 1) / kFourRows;
}
TW_KERNEL_HD inline u32 four_group_bytes(const RowsArgs& args) {
  return args.part_bytes * kFourRows;
}

/// The rows of one instruction, as signed 32-bit numbers. For an index without a row, a gather uses
/// -1, which loads zeros. A scatter would fault on -1; it uses the first row after the table, which
/// writes nothing.
struct FourIndices {
  i32 row[kFourRows];
};

/// Bytes that a scatter keeps per group between load and store, within rows_note_bytes(), which has
/// room for the stage's groups only.
inline constexpr u32 kFourNoteBytes = sizeof(FourIndices);

/// Rows of group `group` of a stage. `table_row(i)` returns the row of index number i, or -1.
template <class TableRow>
TW_KERNEL_HD inline FourIndices four_indices(const RowsArgs& args, const FourStage& stage,
                                             u32 group, bool scatter, TableRow table_row) {
  FourIndices out;
  for (u32 k = 0; k < kFourRows; ++k) {
    const u32 slot = group * kFourRows + k;
    const i64 row = slot < stage.rows ? table_row(stage.first + slot) : -1;
    out.row[k] = static_cast<i32>(row < 0 && scatter ? args.table_rows : row);
  }
  return out;
}

}  // namespace tw
