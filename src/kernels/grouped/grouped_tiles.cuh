// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the wgmma kernels cut groups into tiles, and the table in which they look up a tile's group.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/grouped/grouped_table.cuh"

namespace tw {

/// The row tiles of a group: the fewest that hold its rows, all equally wide.
struct GroupedCut {
  i32 tiles, width;
};
__device__ __forceinline__ GroupedCut grouped_cut(i32 rows) {
  const i32 tiles = (rows + kGroupedTileRows - 1) / kGroupedTileRows;
  return {tiles, tiles <= 1 ? rows : (rows + tiles - 1) / tiles};
}

/// The smallest width in kGemmWidths that holds `rows` (at most 256), and its index there.
struct GroupedWidth {
  i32 width;
  u32 number;
};
__device__ __forceinline__ GroupedWidth grouped_width(i32 rows) {
  if (rows <= 128) {
    const i32 number = rows <= 32 ? 0 : (rows - 1) / 32;
    return {(number + 1) * 32, static_cast<u32>(number)};
  }
  const i32 steps = (rows - 113) / 16;
  return {128 + steps * 16, static_cast<u32>(3 + steps)};
}

/// In shared memory, because a search in global memory would take ten times as long.
struct GroupedTiles {
  i32 before[kGroupedMaxGroups + 1];  // row tiles of all lower groups; the last: of all groups
  i32 begin[kGroupedMaxGroups];
  i32 end[kGroupedMaxGroups];
  static constexpr i32 kWarps = 12;  // of a block
  i32 most[kWarps];                  // most rows of a group, among the groups of each warp
  i64 of_warp[kWarps];

  /// The group of row tile `tile`; `groups` is the number of groups.
  __device__ __forceinline__ i32 find(i32 groups, i32 tile) const {
    i32 low = 0, high = groups;
    while (high - low > 1) {
      const i32 middle = (low + high) / 2;
      if (before[middle] <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  __device__ __forceinline__ i32 most_rows() const {
    i32 rows = 0;
    for (u32 warp = 0; warp < blockDim.x / 32; ++warp) rows = max(rows, most[warp]);
    return rows;
  }
};

/// All threads of the block must call it, after grid_dependency_wait().
template <i32 kThreads>
__device__ __forceinline__ void grouped_fill(GroupedTiles& table, const GroupedArgs& args) {
  static_assert(kThreads <= 32 * GroupedTiles::kWarps, "a place for each warp");
  constexpr i32 kEach = (kGroupedMaxGroups + kThreads - 1) / kThreads;
  const i32 groups = args.group_count, each = (groups + kThreads - 1) / kThreads;
  const i32 first = static_cast<i32>(threadIdx.x) * each;
  i32 tiles[kEach], own = 0, rows = 0;
#pragma unroll
  for (i32 i = 0; i < kEach; ++i) {
    tiles[i] = 0;
    if (i >= each || first + i >= groups) continue;
    const GroupRows group = grouped_live_rows(args, first + i);
    table.begin[first + i] = group.begin;
    table.end[first + i] = group.end;
    tiles[i] = grouped_cut(group.end - group.begin).tiles;
    own += tiles[i];
    rows = max(rows, group.end - group.begin);
  }
  rows = __reduce_max_sync(0xffffffffu, rows);
  if (ptx::lane_id() == 0) table.most[threadIdx.x / 32] = rows;
  auto before = static_cast<i32>(sum_of_lower(own, table.of_warp));
#pragma unroll
  for (i32 i = 0; i < kEach; ++i) {
    if (i < each && first + i < groups) table.before[first + i] = before;
    before += tiles[i];
  }
  if (threadIdx.x == kThreads - 1) table.before[groups] = before;
  ptx::sync_block();
}

}  // namespace tw
