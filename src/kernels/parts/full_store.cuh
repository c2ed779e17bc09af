// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B of a full row that is asked for nothing else: by the copy engine. Each warp has
// staging memory of its own, 16 lines of 128 bytes twice over, so that no warp waits for another.

#include "kernels/parts/full_epilogue.cuh"
#include "kernels/ptx/tma.cuh"

namespace tw {

inline constexpr u32 kStoreBytes = kGemmStoreLines * 128;
static_assert(2 * kStoreBytes <= kFullWarpBytes, "it takes the place of the sums");

// Piece c of 16 bytes of line r of a slab lies at c ^ (r % 8), as the copy engine's swizzle has it.
__device__ __forceinline__ u32 store_place(u32 slab, u32 line, u32 piece) {
  return slab + line * 128 + ((piece ^ (line % 8)) << 4);
}

// 128 bytes of the warp's 16 lines: slab number `slab` of its fragment.
template <class Out, int kCount>
__device__ __forceinline__ void store_stage(const float (&d)[kCount], u32 to, int slab,
                                            float alpha) {
  constexpr int kGroups = 128 / Out::kBytes / 8;  // of eight columns
  const u32 lane = ptx::lane_id();
#pragma unroll
  for (int group = 0; group < kGroups; group += Out::kBytes == 2 ? 2 : 1) {
    const int i = (slab * kGroups + group) * 4;
    if constexpr (Out::kBytes == 2) {
      const auto pair = [&](int at) { return Out::pack(alpha * d[i + at], alpha * d[i + at + 1]); };
      ptx::stmatrix_x4(store_place(to, lane % 16, static_cast<u32>(group) + lane / 16), pair(0),
                       pair(2), pair(4), pair(6));
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        ptx::store_shared_v2(store_place(to, lane / 4 + static_cast<u32>(8 * half),
                                         static_cast<u32>(2 * group) + lane % 4 / 2) +
                                 lane % 2 * 8,
                             alpha * d[i + half * 2], alpha * d[i + half * 2 + 1]);
    }
  }
}

/// Writes the warp's 16 lines of a piece, whose first element is (line, at), into product `z` of
/// the map. `turn` counts the slabs of the whole run.
template <class Out, int kCount>
__device__ __forceinline__ void full_store_lines(const float (&d)[kCount], const KernelMap* map,
                                                 float alpha, u32 staging, u32& turn, i32 line,
                                                 i32 at, i32 extent, i32 z) {
  constexpr i32 kColumns = 128 / static_cast<i32>(Out::kBytes);
  static_assert(2 * kCount % kColumns == 0, "whole slabs");
#pragma unroll
  for (int slab = 0; slab < 2 * kCount / kColumns; ++slab) {
    const i32 column = at + slab * kColumns;
    if (column >= extent) break;
    const u32 to = staging + (turn++ & 1) * kStoreBytes;
    // One and the same lane throughout: groups of stores belong to the thread that commits them.
    if (ptx::lane_id() == 0) ptx::store_wait_read<1>();
    ptx::sync_warp();
    store_stage<Out>(d, to, slab, alpha);
    ptx::fence_async_shared();
    ptx::sync_warp();
    if (ptx::lane_id() == 0) {
      ptx::store_3d(map, to, column, line, z);
      ptx::store_commit();
    }
  }
}

/// Before the warp writes to its staging memory otherwise.
__device__ __forceinline__ void full_store_settle() {
  if (ptx::lane_id() == 0) ptx::store_wait_read<0>();
  ptx::sync_warp();
}

/// Before the block ends: shared memory stays until the last stores are made.
__device__ __forceinline__ void full_store_finish() {
  if (ptx::lane_id() == 0) ptx::store_wait<0>();
}

}  // namespace tw
