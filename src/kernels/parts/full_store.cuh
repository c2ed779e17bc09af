// SPDX-License-Identifier: Apache-2.0
#pragma once
// D of a full row by the copy engine. Each warp has staging memory of its own, rooms of two slabs
// of 16 lines of 128 bytes, so that no warp waits for another. One and the same lane sends and
// waits throughout: groups of stores belong to the thread that commits them.

#include "kernels/parts/full_epilogue.cuh"
#include "kernels/ptx/tma.cuh"

namespace tw {

inline constexpr u32 kStoreBytes = kGemmStoreLines * 128;
inline constexpr int kSlabsOfRoom = 2;
inline constexpr u32 kRoomBytes = kSlabsOfRoom * kStoreBytes;

/// Columns of a slab. It is made in two parts, of 64 bytes a line: their columns, and a lane's
/// values of them as wgmma's fragment lies, pairs of columns in two lines.
inline constexpr int kPartsOfSlab = 2;
template <class Out>
inline constexpr i32 kSlabColumns = 128 / static_cast<i32>(Out::kBytes);
template <class Out>
inline constexpr i32 kPartColumns = kSlabColumns<Out> / kPartsOfSlab;
template <class Out>
inline constexpr int kPartValues = kPartColumns<Out> / 2;

// Piece c of 16 bytes of line r of a slab lies at c ^ (r % 8), as the copy engine's swizzle has it.
__device__ __forceinline__ u32 store_place(u32 slab, u32 line, u32 piece) {
  return slab + line * 128 + ((piece ^ (line % 8)) << 4);
}

/// Where the lane's first values of a slab lie. Slabs begin at multiples of 128, so that the others
/// are reached by changing bits 5 and 6.
template <class Out>
__device__ __forceinline__ u32 store_first(u32 lane, u32 slab) {
  if constexpr (Out::kBytes == 2) return store_place(slab, lane % 16, lane / 16);
  return store_place(slab, lane / 4, lane % 4 / 2) + lane % 2 * 8;
}

/// Packed pairs, two neighbours of each line, of part `part` of slab `slab`; `first` is that of the
/// first slab.
__device__ __forceinline__ void store_words(const u32 (&words)[8], u32 first, u32 slab, u32 part) {
#pragma unroll
  for (u32 pair = 0; pair < 2; ++pair)
    ptx::stmatrix_x4((first ^ (part * 64 + pair * 32)) + slab * kStoreBytes, words[4 * pair],
                     words[4 * pair + 1], words[4 * pair + 2], words[4 * pair + 3]);
}

/// As many values.
template <class Out>
__device__ __forceinline__ void store_stage(const float (&v)[kPartValues<Out>], u32 first, u32 slab,
                                            u32 part) {
  if constexpr (Out::kBytes == 2) {
    u32 words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i] = Out::pack(v[2 * i], v[2 * i + 1]);
    store_words(words, first, slab, part);
  } else {
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      ptx::store_shared_v2((first ^ (part * 64 + i / 2 * 32)) + slab * kStoreBytes + i % 2 * 1024,
                           v[2 * i], v[2 * i + 1]);
  }
}

/// The way back.
template <class Out>
__device__ __forceinline__ void store_unstage(float (&v)[kPartValues<Out>], u32 first, u32 slab,
                                              u32 part) {
  if constexpr (Out::kBytes == 2) {
#pragma unroll
    for (u32 pair = 0; pair < 2; ++pair) {
      u32 words[4];
      ptx::ldmatrix_x4((first ^ (part * 64 + pair * 32)) + slab * kStoreBytes, words);
#pragma unroll
      for (u32 i = 0; i < 8; ++i)
        v[pair * 8 + i] = Out::to_float(
            static_cast<typename Out::Storage>(i % 2 == 0 ? words[i / 2] : words[i / 2] >> 16));
    }
  } else {
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      ptx::load_shared_v2((first ^ (part * 64 + i / 2 * 32)) + slab * kStoreBytes + i % 2 * 1024,
                          v[2 * i], v[2 * i + 1]);
  }
}

/// Waits until at most kPending of the slabs that were sent have not been read.
template <int kPending>
__device__ __forceinline__ void store_free() {
  if (ptx::elect_one()) ptx::store_wait_read<kPending>();
  ptx::sync_warp();
}

/// Sends kSlabs slabs from `slab` on: the first element is (line, at) of product `z` of the map.
template <class Out, int kSlabs>
__device__ __forceinline__ void store_send(const KernelMap* map, u32 slab, i32 line, i32 at,
                                           i32 z) {
  ptx::fence_async_shared();
  ptx::sync_warp();
  if (ptx::elect_one()) {
#pragma unroll
    for (int i = 0; i < kSlabs; ++i) {
      ptx::store_3d(map, slab + static_cast<u32>(i) * kStoreBytes, at + i * kSlabColumns<Out>, line,
                    z);
      ptx::store_commit();
    }
  }
}

/// Before the block ends: shared memory stays until the last stores are made.
__device__ __forceinline__ void full_store_finish() {
  if (ptx::elect_one()) ptx::store_wait<0>();
}

}  // namespace tw
