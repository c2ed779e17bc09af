// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rows of the ragged family are launched with, and which rows of a tile a sequence has:
// for the device, the host bodies and the tests alike.
//
// Sequence b is rows offsets[b] to offsets[b + 1] - 1 of the packed operand. Row r of its padded
// one is the sequence's row first_row + r; where the sequence has no such row, padding fills it and
// unpadding leaves it alone.

#include "kernels/common/row_tiles.h"

namespace tw {

/// KernelRow::variant of this family: how rows are moved, or what step of a run it is.
enum : u32 {
  kRaggedBulk = 1,    // by bulk copies through rings of shared memory
  kRaggedPlain = 2,   // any rows by plain loads and stores
  kRaggedFaults = 3,  // counts sequences whose offsets cannot be
  kRaggedVariants = 4
};

struct RaggedArgs {
  u64 packed;  // of row 0, and of the first column that is moved
  u64 padded;
  u64 offsets;
  i64 tokens;  // rows of the packed operand
  u64 batch;
  i64 first_row;     // -cut.rows to tokens
  i64 packed_pitch;  // bytes
  i64 padded_pitch;
  i64 batch_pitch;
  u64 read_low;  // the operand that is read lies in [read_low, read_high)
  u64 read_high;
  u64 faults;  // a 64-bit word, to which kRaggedFaults adds
  TileCut cut;
  u32 offset_bytes;  // 4 or 8
  u32 unpad;         // 1: from padded to packed
  u32 fill;          // what rows get that a sequence does not have, four bytes of it
  u32 stages;        // of a warp's ring
  u32 stage_bytes;
  u32 block_items;  // tiles that a block takes, neighbours; 0: all blocks take turns
};
static_assert(sizeof(RaggedArgs) == 184, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(RaggedArgs, cut) == 96, "as above");
static_assert(__builtin_offsetof(RaggedArgs, offset_bytes) == 160, "as above");

/// Rows of a sequence by its two offsets. One whose offsets are negative, decrease or run past the
/// packed operand has none: nothing is read or written for it outside of the operands.
struct Sequence {
  i64 begin;
  i64 rows;
  bool fault;
};
TW_KERNEL_HD inline Sequence checked_sequence(i64 begin, i64 end, i64 tokens) {
  if (begin >= 0 && begin <= end && end <= tokens) return {begin, end - begin, false};
  return {0, 0, true};
}

/// The tile of that number; `offset(i)` is offset number i.
template <class Offset>
TW_KERNEL_HD inline RowTile ragged_tile(const RaggedArgs& args, u64 number, Offset offset) {
  const TilePlace at = tile_place(args.cut, number);
  const Sequence sequence = checked_sequence(offset(at.each), offset(at.each + 1), args.tokens);
  // The sequence's row that the tile's row 0 is; the host keeps first_row small enough.
  const i64 row = args.first_row + static_cast<i64>(at.row);
  const i64 rows = static_cast<i64>(at.rows);
  const i64 before = row < 0 ? -row : 0;
  const i64 inside = sequence.rows - row;
  RowTile tile;
  tile.bytes = at.bytes;
  tile.rows = at.rows;
  tile.begin = static_cast<u32>(before < rows ? before : rows);
  tile.end = static_cast<u32>(inside < rows ? inside < 0 ? 0 : inside : rows);
  if (tile.end < tile.begin) tile.end = tile.begin;
  const u64 packed = args.packed +
                     static_cast<u64>(sequence.begin + row) * static_cast<u64>(args.packed_pitch) +
                     at.offset;
  const u64 padded = args.padded + at.each * static_cast<u64>(args.batch_pitch) +
                     at.row * static_cast<u64>(args.padded_pitch) + at.offset;
  const bool unpad = args.unpad != 0;
  tile.src = unpad ? padded : packed;
  tile.dst = unpad ? packed : padded;
  tile.src_pitch = unpad ? args.padded_pitch : args.packed_pitch;
  tile.dst_pitch = unpad ? args.packed_pitch : args.padded_pitch;
  return tile;
}

}  // namespace tw
