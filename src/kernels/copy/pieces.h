// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of any address and stride as pieces of 16 bytes of the destination: what the kernels of
// copy_pieces.cuh are launched with, and where each piece lies.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

inline constexpr u32 kPieceThreads = 256;
inline constexpr u32 kPieceRank = 7;
inline constexpr u32 kPieceSector = 32;  // bytes that the L2 reads and writes at once

/// How the sectors that a row's ends write in part are asked for before they are written: not at
/// all, by lines of four, or by themselves, which takes an instruction that is slow where there are
/// many. Larger numbers, multiples of 16: a row's last piece asks for that many bytes, which reach
/// into the next row's first sector.
enum : u32 { kTouchNothing = 0, kTouchLines = 1, kTouchSectors = 16 };

/// A row has `slots`, one after the other: a slot is the piece of its number, or nothing where the
/// row has fewer. Aligned loads of the source stay inside [src_low, src_high).
struct CopyPieceArgs {
  u64 src;
  u64 dst;
  u64 src_low;
  u64 src_high;
  u64 row_bytes;
  u64 src_policy;
  u64 dst_policy;
  u64 items;  // rows times slots, below kPieceLimit
  i64 src_stride[kPieceRank];
  i64 dst_stride[kPieceRank];
  Divider extent[kPieceRank];
  Divider slots;
  u32 rank;  // of the dimensions outside a row, 1 at least
  // 1: rows begin at multiples of 16 bytes of the destination, and their last piece may be stored
  // whole.
  u32 whole_ends;
  u32 touch;       // kTouchNothing and its neighbours
  u32 ends_bytes;  // 1: pieces that a row has in part are stored byte by byte
};
static_assert(sizeof(CopyPieceArgs) == 288, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyPieceArgs, extent) == 176, "as above");
static_assert(__builtin_offsetof(CopyPieceArgs, slots) == 260, "as above");

/// Items end early enough for a block's step past the last one to be a number that divide() takes.
inline constexpr u64 kPieceLimit = kDividerLimit - (1 << 20);

/// Bytes [first, end) of the 16 at `to` are to be stored; `end` is 0 where there is no piece.
struct CopyPiece {
  u64 to;    // a multiple of 16
  u64 from;  // of the piece's byte 0, wherever that is
  u64 row_from;
  u64 row_end;  // of the source
  u32 row;      // along dimension 0
  u32 first;
  u32 end;
  bool begins;  // its row
  bool ends;
};

/// The piece of a slot; `kRank` is args.rank, or 0 for any.
template <int kRank>
TW_KERNEL_HD constexpr CopyPiece copy_piece(const CopyPieceArgs& args, u32 slot) {
  const u32 row = divide(slot, args.slots);
  const u32 number = slot - row * args.slots.divisor;
  CopyPiece p{};
  u64 src = args.src;
  u64 dst = args.dst;
  u32 rest = row;
  const u32 rank = kRank > 0 ? kRank : args.rank;
  for (u32 d = 0; d < rank; ++d) {
    const u32 next = d + 1 < rank ? divide(rest, args.extent[d]) : 0;
    const u32 index = rest - next * args.extent[d].divisor;
    if (d == 0) p.row = index;
    src += static_cast<u64>(static_cast<i64>(index) * args.src_stride[d]);
    dst += static_cast<u64>(static_cast<i64>(index) * args.dst_stride[d]);
    rest = next;
  }
  p.to = (dst & ~15ull) + number * 16ull;
  const i64 ahead = static_cast<i64>(p.to - dst);  // of the row's first byte
  p.from = src + static_cast<u64>(ahead);
  p.row_from = src;
  p.row_end = src + args.row_bytes;
  const i64 left = static_cast<i64>(args.row_bytes) - ahead;
  p.begins = ahead <= 0;
  p.ends = left <= 16;
  p.first = ahead < 0 ? static_cast<u32>(-ahead) : 0;
  p.end = left >= 16 ? 16 : left > 0 ? static_cast<u32>(left) : 0;
  if (args.whole_ends != 0 && left > 0 && ((p.from + 15) | 15) < args.src_high) p.end = 16;
  if (slot >= args.items) {
    p.end = 0;
    p.row_end = p.row_from;
  }
  return p;
}

/// Whether the aligned 16 bytes that the piece begins in hold a byte of its row and may be read.
TW_KERNEL_HD constexpr bool piece_loads(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 base = p.from & ~15ull;
  return base < p.row_end && base + 16 > p.row_from && base >= args.src_low &&
         base + 16 <= args.src_high;
}

/// Bytes from the piece on that its row's ends leave to be asked for; 0: none.
TW_KERNEL_HD constexpr u32 piece_touches(const CopyPieceArgs& args, const CopyPiece& p) {
  const u32 to = static_cast<u32>(p.to);
  if (p.end == 0 || args.touch == kTouchNothing) return 0;
  if (p.ends && (to + p.end) % kPieceSector != 0)
    return p.row + 1 == args.extent[0].divisor ? kTouchSectors : args.touch;
  if (p.begins && (to + p.first) % kPieceSector != 0 && (args.touch <= kTouchSectors || p.row == 0))
    return kTouchSectors;
  return 0;
}

/// Whether the aligned loads that hold the piece's bytes may all be made.
TW_KERNEL_HD constexpr bool piece_inside(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 low = (p.from + p.first) & ~15ull;
  const u64 high = ((p.from + p.end - 1) & ~15ull) + 16;
  return low >= args.src_low && high <= args.src_high;
}

}  // namespace tw
