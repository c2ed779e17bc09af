// SPDX-License-Identifier: Apache-2.0
#pragma once
// Padding and unpadding of sequences: kernel arguments, and the rows of each tile that a sequence
// supplies. Shared by the kernels, the host bodies and the tests.
//
// Sequence b consists of rows offsets[b] to offsets[b + 1] - 1 of the packed operand. Row r of its
// padded form is row first_row + r of the sequence. If the sequence has no such row, padding writes
// the fill value and unpadding writes nothing.

#include "kernels/common/row_tiles.h"

namespace tw {

/// KernelEntry::variant of this family: the method, or the step of a run.
enum : u32 {
  kRaggedBulk = 1,          // by bulk copies through per-warp pipelines
  kRaggedPlain = 2,         // any rows by ordinary loads and stores
  kRaggedCountInvalid = 3,  // counts sequences with invalid offsets
  kRaggedVariants = 4
};

struct RaggedArgs {
  u64 packed;  // row 0, first column that is moved
  u64 padded;
  u64 offsets;
  i64 tokens;  // rows of the packed operand
  u64 batch;
  i64 first_row;     // -cut.rows to tokens
  i64 packed_pitch;  // bytes
  i64 padded_pitch;
  i64 batch_pitch;
  u64 read_low;  // the source operand occupies [read_low, read_high)
  u64 read_high;
  u64 invalid_count;  // address of a 64-bit counter to which kRaggedCountInvalid adds
  TileCut cut;
  u32 offset_bytes;  // 4 or 8
  u32 unpad;         // 1: from padded to packed; 0: from packed to padded
  u32 fill;          // value of missing rows, repeated to 4 bytes
  u32 stages;        // of the pipeline of each warp
  u32 stage_bytes;
  u32 block_items;  // consecutive tiles per block; 0: blocks take tiles in turn
};
static_assert(sizeof(RaggedArgs) == 184, "host and device must agree on the layout");
static_assert(__builtin_offsetof(RaggedArgs, cut) == 96, "as above");
static_assert(__builtin_offsetof(RaggedArgs, offset_bytes) == 160, "as above");

/// The rows of a sequence. A sequence has none if its offsets are negative, decrease or exceed the
/// packed operand, so that no kernel accesses memory outside the operands.
struct Sequence {
  i64 begin;
  i64 rows;
  bool invalid;
};
TW_KERNEL_HD inline Sequence checked_sequence(i64 begin, i64 end, i64 tokens) {
  if (begin >= 0 && begin <= end && end <= tokens) return {begin, end - begin, false};
  return {0, 0, true};
}

/// Returns tile `number`. `offset(i)` reads offset number i.
template <class Offset>
TW_KERNEL_HD inline RowTile ragged_tile(const RaggedArgs& args, u64 number, Offset offset) {
  const TilePlace at = tile_place(args.cut, number);
  const Sequence sequence =
      checked_sequence(offset(at.operand), offset(at.operand + 1), args.tokens);
  // Row of the sequence for the tile's row 0. The host bounds first_row, so this cannot overflow.
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
  const u64 padded = args.padded + at.operand * static_cast<u64>(args.batch_pitch) +
                     at.row * static_cast<u64>(args.padded_pitch) + at.offset;
  const bool unpad = args.unpad != 0;
  tile.src = unpad ? padded : packed;
  tile.dst = unpad ? packed : padded;
  tile.src_pitch = unpad ? args.padded_pitch : args.packed_pitch;
  tile.dst_pitch = unpad ? args.packed_pitch : args.padded_pitch;
  return tile;
}

}  // namespace tw
