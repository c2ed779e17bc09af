// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rows and which bytes of them are moved together, and what an index becomes: the arithmetic
// of the row kernels, for the device and for the host bodies alike.

#include "kernels/rows/rows.h"

namespace tw {

/// The row that an index names, or -1. At full width: no index narrows onto a row.
TW_KERNEL_HD inline i64 checked_row(i64 index, i64 rows) {
  return index >= 0 && index < rows ? index : -1;
}

/// The number of rows of a run whose number is read from device memory.
TW_KERNEL_HD inline i64 clamped_count(i64 wanted, i64 most) {
  return wanted < 0 ? 0 : wanted > most ? most : wanted;
}

/// A piece: of which packed row, by which index, where in the row, how long; 0 bytes: none.
struct RowPiece {
  u64 row;
  u64 index;
  u64 offset;
  u32 bytes;
};

/// Pieces of a run. Where rows have parts or members there are fewer than kDividerLimit: the
/// planner sees to it.
TW_KERNEL_HD inline u64 total_pieces(const RowsArgs& args, i64 count) {
  return static_cast<u64>(count) * args.parts * args.group;
}

TW_KERNEL_HD inline RowPiece row_piece(const RowsArgs& args, u64 number, u64 total) {
  if (number >= total) return {0, 0, 0, 0};
  const u32 of_row = args.parts * args.group;
  if (of_row == 1) return {number, number, 0, args.last_bytes};
  const u32 small = static_cast<u32>(number);
  const u32 row = divide(small, args.part_divider);
  const u32 rest = small - row * of_row;
  const u32 part = divide(rest, args.group_divider);
  const u32 member = rest - part * args.group;
  return {row, static_cast<u64>(row) * args.group + member,
          static_cast<u64>(part) * args.part_bytes,
          part + 1 == args.parts ? args.last_bytes : args.part_bytes};
}

/// Rows of the packed operand that begin at piece `first` of a stage, where each is one piece or
/// one group.
TW_KERNEL_HD inline u64 packed_row_of(const RowsArgs& args, u64 first) {
  return args.group == 1 ? first : divide(static_cast<u32>(first), args.group_divider);
}

// Four rows an instruction.

/// What hardware and the layouts of its index registers ask for at least, and a box at most.
inline constexpr u32 kFourRows = 4;
inline constexpr i64 kFourMinRows = 8;
inline constexpr i64 kFourMinBytes = 32;
inline constexpr i64 kFourMaxBox = 256;  // elements
inline constexpr u32 kFourUnit = 32;  // bytes: four rows of it keep the next four 128-byte aligned

/// A stage of four-row boxes: index numbers `first` to first + rows - 1, all of one part of the
/// window; groups of four behind one another, the rows of a group part_bytes apart.
struct FourStage {
  u64 first;
  u32 rows;  // stage_pieces, a multiple of four, but for the last
  u32 part;
  u32 bytes;  // of a row that belong to the window
};

/// Stages of a run: the parts of as many rows as a stage holds follow one another. They are fewer
/// than kDividerLimit where rows have parts.
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

/// The rows of one instruction, as it takes them: signed 32-bit numbers. A gather's that name no
/// row are negative, which fills zeros; a scatter's would fault then, and become the first row
/// behind the table, which writes nothing.
struct FourIndices {
  i32 row[kFourRows];
};

/// Bytes of a group's indices where a scatter keeps them from a stage's load to its stores: as many
/// as the stage has groups, in the room of rows_note_bytes().
inline constexpr u32 kFourNoteBytes = sizeof(FourIndices);

/// Of group `group` of a stage; `named(i)` is the row that index number i names, or -1.
template <class Named>
TW_KERNEL_HD inline FourIndices four_indices(const RowsArgs& args, const FourStage& stage,
                                             u32 group, bool scatter, Named named) {
  FourIndices out;
  for (u32 k = 0; k < kFourRows; ++k) {
    const u32 slot = group * kFourRows + k;
    const i64 row = slot < stage.rows ? named(stage.first + slot) : -1;
    out.row[k] = static_cast<i32>(row < 0 && scatter ? args.table_rows : row);
  }
  return out;
}

}  // namespace tw
