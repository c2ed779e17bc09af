// SPDX-License-Identifier: Apache-2.0
#pragma once
// The groups of a run in shared memory. Each block reads them once, when it begins, since only the
// device knows them; then a tile's number leads to its group by a binary search.

#include "kernels/grouped/grouped.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// Row tiles of a group: as few as can have its rows, all equally wide.
struct GroupCut {
  i32 tiles, width;
};
__device__ __forceinline__ GroupCut group_cut(i32 rows, i32 most) {
  const i32 tiles = (rows + most - 1) / most;
  return {tiles, tiles <= 1 ? rows : (rows + tiles - 1) / tiles};
}

/// In shared memory: for each group the row tiles of those before it, then its first row, then its
/// end; and what a block adds up while it makes the table.
struct GroupTable {
  static constexpr u32 kBegins = (kGroupedMaxGroups + 4) * 4;
  static constexpr u32 kEnds = kBegins + kGroupedMaxGroups * 4;
  static constexpr u32 kSums = kEnds + kGroupedMaxGroups * 4;  // of each warp
  static constexpr u32 kMosts = kSums + 32 * 4;                // likewise
  static constexpr u32 kBytes = kMosts + 32 * 4;
  u32 base;
  i32 groups;

  __device__ __forceinline__ i32 tiles_before(i32 g) const {
    return static_cast<i32>(ptx::shared_load<4>(base + static_cast<u32>(g) * 4));
  }
  __device__ __forceinline__ i32 begin(i32 g) const {
    return static_cast<i32>(ptx::shared_load<4>(base + kBegins + static_cast<u32>(g) * 4));
  }
  __device__ __forceinline__ i32 end(i32 g) const {
    return static_cast<i32>(ptx::shared_load<4>(base + kEnds + static_cast<u32>(g) * 4));
  }
  __device__ __forceinline__ i32 tiles() const { return tiles_before(groups); }
  /// Of the largest group.
  template <i32 kThreads>
  __device__ __forceinline__ i32 most_rows() const {
    i32 most = 0;
    for (u32 warp = 0; warp < kThreads / 32; ++warp)
      most = max(most, static_cast<i32>(ptx::shared_load<4>(base + kMosts + warp * 4)));
    return most;
  }
  /// The group of row tile `tile`, which is one of tiles().
  __device__ __forceinline__ i32 find(i32 tile) const {
    i32 low = 0, high = groups;
    while (high - low > 1) {
      const i32 middle = (low + high) / 2;
      if (tiles_before(middle) <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  template <i32 kThreads>
  __device__ __forceinline__ void fill(const GroupedArgs& args, i32 rows, i32 tile_rows) const;
};

// By all of the block's threads, behind grid_dependency_wait(). Groups without a weight matrix have
// no tiles.
template <i32 kThreads>
__device__ __forceinline__ void GroupTable::fill(const GroupedArgs& args, i32 rows,
                                                 i32 tile_rows) const {
  constexpr i32 kEach = (kGroupedMaxGroups + kThreads - 1) / kThreads;
  const auto thread = static_cast<i32>(threadIdx.x);
  const i32 each = (groups + kThreads - 1) / kThreads;
  i32 tiles[kEach], sum = 0, most = 0;
#pragma unroll
  for (i32 i = 0; i < kEach; ++i) {
    tiles[i] = 0;
    const i32 g = thread * each + i;
    if (i >= each || g >= groups) continue;
    const GroupRows own = grouped_rows(args, g, rows);
    const i32 count = grouped_weight(args, g) < 0 ? 0 : own.end - own.begin;
    tiles[i] = group_cut(count, tile_rows).tiles;
    most = max(most, count);
    sum += tiles[i];
    ptx::shared_store<4>(base + kBegins + static_cast<u32>(g) * 4, static_cast<u32>(own.begin));
    ptx::shared_store<4>(base + kEnds + static_cast<u32>(g) * 4, static_cast<u32>(own.end));
  }
  const u32 lane = ptx::lane_id(), warp = threadIdx.x / 32;
  i32 before = sum;  // with its own, of the warp
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const i32 other = __shfl_up_sync(0xffffffffu, before, step);
    if (lane >= step) before += other;
  }
  most = __reduce_max_sync(0xffffffffu, most);
  if (lane == 31) {
    ptx::shared_store<4>(base + kSums + warp * 4, static_cast<u32>(before));
    ptx::shared_store<4>(base + kMosts + warp * 4, static_cast<u32>(most));
  }
  ptx::sync_block();
  before -= sum;
  for (u32 i = 0; i < warp; ++i)
    before += static_cast<i32>(ptx::shared_load<4>(base + kSums + i * 4));
#pragma unroll
  for (i32 i = 0; i < kEach; ++i) {
    const i32 g = thread * each + i;
    if (i < each && g < groups)
      ptx::shared_store<4>(base + static_cast<u32>(g) * 4, static_cast<u32>(before));
    before += tiles[i];
  }
  if (thread == kThreads - 1)
    ptx::shared_store<4>(base + static_cast<u32>(groups) * 4, static_cast<u32>(before));
  ptx::sync_block();
}

}  // namespace tw
