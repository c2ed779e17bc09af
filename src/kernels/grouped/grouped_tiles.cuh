// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the wgmma kernels divide the rows of a group into row tiles, and the table that maps a row
// tile to its group.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/grouped/grouped_table.cuh"

namespace tw {

/// The row tiles of a group: as few as possible, each of `width` rows, which are kMaxRows at most.
struct GroupedRowTiles {
  i32 count, width;
};
template <i32 kMaxRows = kGroupedTileRows>
__device__ __forceinline__ GroupedRowTiles grouped_row_tiles(i32 rows) {
  const i32 count = (rows + kMaxRows - 1) / kMaxRows;
  return {count, count <= 1 ? rows : (rows + count - 1) / count};
}

/// The smallest width in kGemmWidths that holds `rows` rows (at most 256), and its index there.
struct GroupedWidth {
  i32 width;
  u32 index;
};
__device__ __forceinline__ GroupedWidth grouped_width(i32 rows) {
  const i32 round_up = static_cast<i32>(kGemmWidthStep) - 1;
  const i32 index = rows <= gemm_width(0) ? 0 : gemm_width_index(rows + round_up);
  return {gemm_width(index), static_cast<u32>(index)};
}

/// Maps row tiles to groups. It lies in shared memory, because a binary search in global memory
/// would take ten times as long.
struct GroupedRowTileTable {
  i32 first_tile[kGroupedMaxGroups + 1];  // each group's first row tile, then their number
  i32 begin[kGroupedMaxGroups];           // rows of each group: `begin` to `end` - 1
  i32 end[kGroupedMaxGroups];
  static constexpr i32 kMaxWarps = 12;  // of a block
  i32 warp_max_rows[kMaxWarps];         // rows of the largest group that each warp looked up
  i64 warp_sums[kMaxWarps];             // for sum_of_lower_threads()

  /// The group of row tile `tile`.
  __device__ __forceinline__ i32 find(i32 groups, i32 tile) const {
    i32 low = 0, high = groups;
    while (high - low > 1) {
      const i32 middle = (low + high) / 2;
      if (first_tile[middle] <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  /// Rows of the largest group.
  __device__ __forceinline__ i32 max_rows() const {
    i32 rows = 0;
    for (u32 warp = 0; warp < blockDim.x / 32; ++warp) rows = max(rows, warp_max_rows[warp]);
    return rows;
  }
};

/// Fills the table. All threads of the block call it, after grid_dependency_wait().
template <i32 kThreads, i32 kMaxRows>
__device__ __forceinline__ void grouped_fill_row_tiles(GroupedRowTileTable& table,
                                                       const GroupedArgs& args) {
  static_assert(kThreads <= 32 * GroupedRowTileTable::kMaxWarps,
                "warp_sums needs an element for each warp");
  constexpr i32 kMaxGroups = (kGroupedMaxGroups + kThreads - 1) / kThreads;  // of a thread
  const i32 groups = args.group_count, each = (groups + kThreads - 1) / kThreads;
  const i32 first = static_cast<i32>(threadIdx.x) * each;
  i32 tiles[kMaxGroups], own = 0, rows = 0;
#pragma unroll
  for (i32 i = 0; i < kMaxGroups; ++i) {
    tiles[i] = 0;
    if (i >= each || first + i >= groups) continue;
    const GroupRows group = grouped_multiplied_rows(args, first + i);
    table.begin[first + i] = group.begin;
    table.end[first + i] = group.end;
    tiles[i] = grouped_row_tiles<kMaxRows>(group.end - group.begin).count;
    own += tiles[i];
    rows = max(rows, group.end - group.begin);
  }
  rows = __reduce_max_sync(0xffffffffu, rows);
  if (ptx::lane_id() == 0) table.warp_max_rows[threadIdx.x / 32] = rows;
  auto tile = static_cast<i32>(sum_of_lower_threads(own, table.warp_sums));
#pragma unroll
  for (i32 i = 0; i < kMaxGroups; ++i) {
    if (i < each && first + i < groups) table.first_tile[first + i] = tile;
    tile += tiles[i];
  }
  if (threadIdx.x == kThreads - 1) table.first_tile[groups] = tile;
  ptx::sync_block();
}

}  // namespace tw
