// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of rows with any address and stride, cut into 16-byte pieces of the destination: arguments
// of the kernels in copy_pieces.cuh, and the position of each piece.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

inline constexpr u32 kPieceThreads = 256;
inline constexpr u32 kPieceRank = 7;
inline constexpr u32 kPieceSector = 32;  // granularity of L2 reads and writes, bytes

/// CopyPieceArgs::prefetch: how the kernel prefetches sectors that the ends of a row cover only in
/// part, before it writes them. kPrefetchLines prefetches whole lines (four sectors).
/// kPrefetchSectors prefetches single sectors by a bulk instruction, which is slow if there are
/// many. A larger multiple of 16 is the number of bytes that a row's last piece prefetches, which
/// also covers the first sector of the next row.
enum : u32 { kPrefetchNothing = 0, kPrefetchLines = 1, kPrefetchSectors = 16 };

/// Each row has `slots` consecutive slots. Slot i holds piece i of the row, or nothing if the row
/// has fewer pieces. Aligned loads of the source stay inside [src_low, src_high).
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
  u32 rank;  // number of dimensions outside a row, at least 1
  // 1: in the destination, rows begin at multiples of 16 bytes and are padded to one, so the kernel
  // may store a row's last piece as 16 bytes.
  u32 ends_padded;
  u32 prefetch;       // kPrefetchNothing, kPrefetchLines, or a multiple of 16 bytes
  u32 ends_by_bytes;  // 1: partial pieces are stored byte by byte
};
static_assert(sizeof(CopyPieceArgs) == 288, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyPieceArgs, extent) == 176, "as above");
static_assert(__builtin_offsetof(CopyPieceArgs, slots) == 260, "as above");

/// Leaves room for a grid-stride step past the last item, so that the sum still suits divide().
inline constexpr u64 kPieceLimit = kDividerLimit - (1 << 20);

/// A 16-byte piece. The kernel stores its bytes [first, end); `end` is 0 if there is no piece.
struct CopyPiece {
  u64 to;        // a multiple of 16
  u64 from;      // source address of the piece's byte 0, which may lie before the row
  u64 row_from;  // source address of the row's first byte
  u64 row_end;   // source address past the row's last byte
  u32 row;       // index along dimension 0
  u32 first;
  u32 end;
  bool begins;  // the piece begins its row
  bool ends;    // the piece ends its row
};

/// Returns the piece of a slot. `kRank` is args.rank, or 0 to read the rank from `args`.
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
  const i64 ahead = static_cast<i64>(p.to - dst);  // offset from the row's first byte
  p.from = src + static_cast<u64>(ahead);
  p.row_from = src;
  p.row_end = src + args.row_bytes;
  const i64 left = static_cast<i64>(args.row_bytes) - ahead;
  p.begins = ahead <= 0;
  p.ends = left <= 16;
  p.first = ahead < 0 ? static_cast<u32>(-ahead) : 0;
  p.end = left >= 16 ? 16 : left > 0 ? static_cast<u32>(left) : 0;
  if (args.ends_padded != 0 && left > 0 && ((p.from + 15) | 15) < args.src_high) p.end = 16;
  if (slot >= args.items) {
    p.end = 0;
    p.row_end = p.row_from;
  }
  return p;
}

/// Returns whether the aligned 16 bytes at the start of the piece hold a byte of its row and lie in
/// [src_low, src_high).
TW_KERNEL_HD constexpr bool piece_loads(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 base = p.from & ~15ull;
  return base < p.row_end && base + 16 > p.row_from && base >= args.src_low &&
         base + 16 <= args.src_high;
}

/// Returns how many bytes from `p.to` on the kernel must prefetch for this piece; 0 for none.
TW_KERNEL_HD constexpr u32 prefetch_bytes_of(const CopyPieceArgs& args, const CopyPiece& p) {
  const u32 to = static_cast<u32>(p.to);
  if (p.end == 0 || args.prefetch == kPrefetchNothing) return 0;
  if (p.ends && (to + p.end) % kPieceSector != 0)
    return p.row + 1 == args.extent[0].divisor ? kPrefetchSectors : args.prefetch;
  if (p.begins && (to + p.first) % kPieceSector != 0 &&
      (args.prefetch <= kPrefetchSectors || p.row == 0))
    return kPrefetchSectors;
  return 0;
}

/// Returns whether all aligned loads for the piece's bytes lie in [src_low, src_high).
TW_KERNEL_HD constexpr bool piece_inside(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 low = (p.from + p.first) & ~15ull;
  const u64 high = ((p.from + p.end - 1) & ~15ull) + 16;
  return low >= args.src_low && high <= args.src_high;
}

}  // namespace tw
