// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads 16 bytes from any address by aligned loads, and stores parts of 16 bytes.

#include "kernels/common/realign.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"

namespace tw {

__device__ __forceinline__ Words4 words_of(uint4 v) {
  return {{v.x, v.y, v.z, v.w}};
}

/// Whether the aligned loads for the 16 bytes at `address` stay inside [low, high).
__device__ __forceinline__ bool aligned_loads_inside(u64 address, u64 low, u64 high) {
  const u64 base = address & ~15ull;
  return base >= low && base + ((address & 15) == 0 ? 16 : 32) <= high;
}

/// The aligned vectors that hold 16 bytes of any address. `second` mostly is the neighboring
/// thread's `first`, so the loads use the L1.
struct AlignedPair {
  uint4 first;
  uint4 second;
};
__device__ __forceinline__ AlignedPair load_aligned(u64 address) {
  const u64 base = address & ~15ull;
  AlignedPair pair;
  pair.first = ptx::load_unit_cached<16>(base);
  pair.second = pair.first;
  if ((address & 15) != 0) pair.second = ptx::load_unit_cached<16>(base + 16);
  return pair;
}
/// Like load_aligned, for memory that a predecessor grid writes; after grid_dependency_wait() only.
__device__ __forceinline__ AlignedPair load_aligned_after_wait(u64 address) {
  const u64 base = address & ~15ull;
  AlignedPair pair;
  pair.first = ptx::load_after_wait<16>(base);
  pair.second = pair.first;
  if ((address & 15) != 0) pair.second = ptx::load_after_wait<16>(base + 16);
  return pair;
}
__device__ __forceinline__ Words4 realign(const AlignedPair& pair, u64 address) {
  return shift_bytes(words_of(pair.first), words_of(pair.second), static_cast<u32>(address) & 15);
}

/// Copies a piece byte by byte, where aligned loads would leave the readable memory. kAfterWait: a
/// predecessor grid may write the source until grid_dependency_wait() returns.
template <bool kAfterWait = false>
__device__ __forceinline__ void copy_bytes(const Piece16& piece) {
#pragma unroll 1
  for (u32 byte = piece.first; byte < piece.end; ++byte) {
    const u64 from = piece.src + byte;
    if constexpr (kAfterWait)
      ptx::store_unit<1>(piece.address + byte, ptx::load_byte_after_wait(from));
    else
      ptx::store_unit<1>(piece.address + byte, ptx::load_unit_cached<1>(from));
  }
}

template <int kBytes>
struct PartSize {
  static constexpr int value = kBytes;
};

/// Stores bytes `first` to `end` - 1 of a piece; `address` is a multiple of 16. Stores first grow
/// in size up to 8 bytes, then shrink, so that each one is aligned to its size.
__device__ __forceinline__ void store_part(u64 address, const Words4& v, u32 first, u32 end) {
  if (first == 0 && end == 16) {
    ptx::store_unit<16>(address, make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]));
    return;
  }
  u32 at = first;
  const auto put = [&](auto size) {
    constexpr int kSize = size.value;
    if constexpr (kSize == 8)
      ptx::store_unit<8>(address + at, word_of(v, at / 4) | static_cast<u64>(word_of(v, at / 4 + 1))
                                                                << 32);
    else if constexpr (kSize == 4)
      ptx::store_unit<4>(address + at, word_of(v, at / 4));
    else
      ptx::store_unit<kSize>(address + at,
                             static_cast<unsigned short>(word_of(v, at / 4) >> (at % 4 * 8)));
    at += kSize;
  };
  if ((at & 1) != 0 && at + 1 <= end) put(PartSize<1>{});
  if ((at & 2) != 0 && at + 2 <= end) put(PartSize<2>{});
  if ((at & 4) != 0 && at + 4 <= end) put(PartSize<4>{});
  if (at + 8 <= end) put(PartSize<8>{});
  if (at + 4 <= end) put(PartSize<4>{});
  if (at + 2 <= end) put(PartSize<2>{});
  if (at + 1 <= end) put(PartSize<1>{});
}

/// Like store_part, for a piece that begins a row (`end` is 16) or ends one (`first` is 0). It has
/// at most one store of each size, and lanes at the beginning and at the end of a row execute the
/// same store together, so that the warp issues fewer stores.
__device__ __forceinline__ void store_end(u64 address, const Words4& v, u32 first, u32 end) {
  const u32 bytes = end - first;
  // Larger stores are closer to the inside of the row, which keeps each one aligned.
  const auto place = [&](u32 size) {
    const u32 larger = bytes & ~(2 * size - 1);
    return first != 0 ? 16 - larger - size : larger;
  };
  if ((bytes & 8) != 0) {
    const u32 at = place(8);
    ptx::store_unit<8>(address + at, word_of(v, at / 4) | static_cast<u64>(word_of(v, at / 4 + 1))
                                                              << 32);
  }
  if ((bytes & 4) != 0) ptx::store_unit<4>(address + place(4), word_of(v, place(4) / 4));
  if ((bytes & 2) != 0) {
    const u32 at = place(2);
    ptx::store_unit<2>(address + at,
                       static_cast<unsigned short>(word_of(v, at / 4) >> (at % 4 * 8)));
  }
  if ((bytes & 1) != 0) {
    const u32 at = place(1);
    ptx::store_unit<1>(address + at,
                       static_cast<unsigned short>(word_of(v, at / 4) >> (at % 4 * 8)));
  }
}

}  // namespace tw
