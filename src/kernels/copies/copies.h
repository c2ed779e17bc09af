// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many copies of one shape: kernel arguments, and the address of each tile. Shared by the kernels,
// the host bodies and the tests.
//
// Two lists in device memory hold the source and destination address of each pair. A pair is
// skipped if one of its addresses is 0 or breaks the promised alignment.

#include "kernels/common/row_tiles.h"

namespace tw {

/// KernelEntry::variant of this family: the method, or the step of a run.
enum : u32 {
  kCopiesBulk = 1,     // tiles by bulk copies where the addresses allow it, else by ordinary loads
  kCopiesPlain = 2,    // all tiles by ordinary loads and stores
  kCopiesSkipped = 3,  // counts the skipped pairs
  kCopiesVariants = 4
};

inline constexpr u32 kCopiesRank = 8;

/// Strides are in bytes and belong to the dimensions outside a row, innermost first. Tiles extend
/// along the first of them; `outer` is the product of the other extents.
struct CopiesArgs {
  u64 src_list;
  u64 dst_list;
  u64 pairs;
  u64 invalid_count;  // address of a 64-bit counter to which kCopiesSkipped adds
  i64 src_offset;     // from a pair's address to its first row
  i64 dst_offset;
  i64 src_low;  // a pair's source occupies [address + src_low, address + src_high)
  i64 src_high;
  u64 outer;
  i64 src_stride[kCopiesRank];
  i64 dst_stride[kCopiesRank];
  u64 extent[kCopiesRank];
  TileCut cut;            // of pairs * outer operands
  Divider outer_divider;  // used if there are fewer than kDividerLimit items
  u32 src_mask;           // address bits that must be 0, else the pair is skipped
  u32 dst_mask;
  u32 rank;
  u32 stages;  // of the pipeline of each warp
  u32 stage_bytes;
  u32 block_items;  // consecutive tiles per block; 0: blocks take tiles in turn
  u32 reserved;
};
static_assert(sizeof(CopiesArgs) == 368, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopiesArgs, cut) == 264, "as above");
static_assert(__builtin_offsetof(CopiesArgs, src_mask) == 340, "as above");

/// Whether a pair is copied, not skipped.
TW_KERNEL_HD inline bool copies_pair(const CopiesArgs& args, u64 src, u64 dst) {
  return src != 0 && dst != 0 && (src & args.src_mask) == 0 && (dst & args.dst_mask) == 0;
}

/// A tile, all of whose rows are moved, and the range that aligned loads for it may touch.
struct CopiesTile {
  RowTile rows;
  u64 read_low;
  u64 read_high;
};

/// Returns tile `number` in the form that moved_rows() returns. `address(list, pair)` reads a list
/// entry.
template <class Address>
TW_KERNEL_HD inline CopiesTile copies_tile(const CopiesArgs& args, u64 number, Address address) {
  const TilePlace at = tile_place(args.cut, number);
  u64 pair = at.operand;
  u64 rest = 0;
  if (args.outer != 1) {
    pair = args.cut.items < kDividerLimit ? divide(static_cast<u32>(at.operand), args.outer_divider)
                                          : at.operand / args.outer;
    rest = at.operand - pair * args.outer;
  }
  const u64 src = address(args.src_list, pair);
  const u64 dst = address(args.dst_list, pair);
  const bool good = copies_pair(args, src, dst);
  u64 src_at = static_cast<u64>(args.src_offset) + at.row * static_cast<u64>(args.src_stride[0]);
  u64 dst_at = static_cast<u64>(args.dst_offset) + at.row * static_cast<u64>(args.dst_stride[0]);
  for (u32 d = 1; d < args.rank && rest != 0; ++d) {
    const u64 next = rest / args.extent[d];
    const u64 index = rest - next * args.extent[d];
    src_at += index * static_cast<u64>(args.src_stride[d]);
    dst_at += index * static_cast<u64>(args.dst_stride[d]);
    rest = next;
  }
  const u32 rows = good ? at.rows : 0;
  const RowTile tile{src + src_at + at.offset,
                     dst + dst_at + at.offset,
                     args.src_stride[0],
                     args.dst_stride[0],
                     at.bytes,
                     rows,
                     0,
                     rows};
  return {moved_rows(tile), src + static_cast<u64>(args.src_low),
          src + static_cast<u64>(args.src_high)};
}

}  // namespace tw
