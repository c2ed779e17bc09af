// SPDX-License-Identifier: Apache-2.0
#pragma once
// D of a full row by the copy engine. Each warp has staging memory of its own, 16 lines of 128
// bytes twice over, so that no warp waits for another.

#include "kernels/parts/full_epilogue.cuh"
#include "kernels/ptx/tma.cuh"

namespace tw {

inline constexpr u32 kStoreBytes = kGemmStoreLines * 128;
/// Of a warp's staging memory.
inline constexpr u32 kFullWarpBytes = 2 * kStoreBytes;

// Piece c of 16 bytes of line r of a slab lies at c ^ (r % 8), as the copy engine's swizzle has it.
__device__ __forceinline__ u32 store_place(u32 slab, u32 line, u32 piece) {
  return slab + line * 128 + ((piece ^ (line % 8)) << 4);
}

/// A slab is made in two parts, of 64 bytes a line: their columns, and a lane's values of them as
/// wgmma's fragment lies, pairs of columns in two lines.
inline constexpr int kPartsOfSlab = 2;
template <class Out>
inline constexpr i32 kPartColumns = 64 / static_cast<i32>(Out::kBytes);
template <class Out>
inline constexpr int kPartValues = kPartColumns<Out> / 2;

template <class Out>
__device__ __forceinline__ void store_stage(const float (&v)[kPartValues<Out>], u32 lane, u32 slab,
                                            u32 part) {
  const u32 first = part * 4;  // piece of 16 bytes
#pragma unroll
  for (u32 group = 0; group < static_cast<u32>(kPartColumns<Out>) / 8;
       group += Out::kBytes == 2 ? 2 : 1) {
    const u32 i = group * 4;
    if constexpr (Out::kBytes == 2) {
      ptx::stmatrix_x4(store_place(slab, lane % 16, first + group + lane / 16),
                       Out::pack(v[i], v[i + 1]), Out::pack(v[i + 2], v[i + 3]),
                       Out::pack(v[i + 4], v[i + 5]), Out::pack(v[i + 6], v[i + 7]));
    } else {
#pragma unroll
      for (u32 half = 0; half < 2; ++half)
        ptx::store_shared_v2(
            store_place(slab, lane / 4 + 8 * half, first + 2 * group + lane % 4 / 2) + lane % 2 * 8,
            v[i + half * 2], v[i + half * 2 + 1]);
    }
  }
}

/// The slab that is next, free to be written to. `turn` counts the slabs of the whole run.
__device__ __forceinline__ u32 store_begin(u32 lane, u32 staging, u32 turn) {
  // One and the same lane throughout: groups of stores belong to the thread that commits them.
  if (lane == 0) ptx::store_wait_read<1>();
  ptx::sync_warp();
  return staging + (turn & 1) * kStoreBytes;
}

/// Sends it: its first element is (line, at) of product `z` of the map.
__device__ __forceinline__ void store_send(u32 lane, const KernelMap* map, u32 slab, i32 line,
                                           i32 at, i32 z) {
  ptx::fence_async_shared();
  ptx::sync_warp();
  if (lane == 0) {
    ptx::store_3d(map, slab, at, line, z);
    ptx::store_commit();
  }
}

/// Writes the warp's 16 lines of a piece of alpha A B, whose first element is (line, at).
template <class Out, int kCount>
__device__ __forceinline__ void full_store_lines(const float (&d)[kCount], const KernelMap* map,
                                                 float alpha, u32 staging, u32& turn, i32 line,
                                                 i32 at, i32 extent, i32 z) {
  constexpr int kValues = kPartsOfSlab * kPartValues<Out>;
  static_assert(kCount % kValues == 0, "whole slabs");
  const u32 lane = ptx::lane_id();
#pragma unroll
  for (int slab = 0; slab < kCount / kValues; ++slab) {
    const i32 column = at + slab * (2 * kValues);
    if (column >= extent) break;
    const u32 to = store_begin(lane, staging, turn++);
#pragma unroll
    for (int part = 0; part < kPartsOfSlab; ++part) {
      float v[kPartValues<Out>];
#pragma unroll
      for (int i = 0; i < kPartValues<Out>; ++i)
        v[i] = alpha * d[slab * kValues + part * kPartValues<Out> + i];
      store_stage<Out>(v, lane, to, static_cast<u32>(part));
    }
    store_send(lane, map, to, line, column, z);
  }
}

/// Before the block ends: shared memory stays until the last stores are made.
__device__ __forceinline__ void full_store_finish() {
  if (ptx::lane_id() == 0) ptx::store_wait<0>();
}

}  // namespace tw
