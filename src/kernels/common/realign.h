// SPDX-License-Identifier: Apache-2.0
#pragma once
// Register arithmetic of unaligned copies: 16 bytes out of 32 from any byte on, and the 16-byte
// pieces of a destination row. The host compiles it for tests and host bodies.

#include "kernels/arguments.h"

namespace tw {

struct Words4 {
  u32 w[4];
};

/// Returns bits shift to shift + 31 of the 64-bit number high:low; shift is below 32.
TW_KERNEL_HD inline u32 funnel_right(u32 low, u32 high, u32 shift) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<u32>(((static_cast<u64>(high) << 32) | low) >> shift);
#endif
}

/// Returns bytes `from` to from + 15 of `low` followed by `high`; `from` is below 16.
TW_KERNEL_HD inline Words4 shift_bytes(const Words4& low, const Words4& high, u32 from) {
  const bool eight = (from & 8) != 0;
  const bool four = (from & 4) != 0;
  const u32 a[6] = {eight ? low.w[2] : low.w[0],   eight ? low.w[3] : low.w[1],
                    eight ? high.w[0] : low.w[2],  eight ? high.w[1] : low.w[3],
                    eight ? high.w[2] : high.w[0], eight ? high.w[3] : high.w[1]};
  const u32 b[5] = {four ? a[1] : a[0], four ? a[2] : a[1], four ? a[3] : a[2], four ? a[4] : a[3],
                    four ? a[5] : a[4]};
  const u32 bits = (from & 3) * 8;
  return {{funnel_right(b[0], b[1], bits), funnel_right(b[1], b[2], bits),
           funnel_right(b[2], b[3], bits), funnel_right(b[3], b[4], bits)}};
}

/// Word `index` of four. Selects registers: an array index would move the words to local memory.
TW_KERNEL_HD inline u32 word_of(const Words4& words, u32 index) {
  const u32 low = (index & 1) != 0 ? words.w[1] : words.w[0];
  const u32 high = (index & 1) != 0 ? words.w[3] : words.w[2];
  return (index & 2) != 0 ? high : low;
}

/// A 16-byte piece of the destination at `address`, a multiple of 16, with bytes [first, end) in
/// the row.
struct Piece16 {
  u64 address;
  u64 src;  // source address of the piece's byte 0, which may be before the row
  u32 first;
  u32 end;
};

/// Piece `number` of a row of `bytes` bytes; its `end` is 0 if there is no such piece.
TW_KERNEL_HD inline Piece16 piece_of_row(u64 src, u64 dst, u64 bytes, u32 number) {
  const u64 address = (dst & ~15ull) + static_cast<u64>(number) * 16;
  const u64 row_end = dst + bytes;
  if (address >= row_end) return {0, 0, 0, 0};
  const u32 first = address < dst ? static_cast<u32>(dst - address) : 0;
  const u32 end = row_end - address < 16 ? static_cast<u32>(row_end - address) : 16;
  return {address, src + (address - dst), first, end};
}

/// The largest number of pieces of a row at any address.
TW_KERNEL_HD constexpr u64 most_pieces(u64 row_bytes) {
  return (row_bytes + 15 + 15) / 16;
}

}  // namespace tw
