// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the group of a tile of the mma.sync kernels. Tiles are numbered group by group. Only the
// device knows how many tiles a group has, so each block builds a table when its kernel begins.

#include "kernels/grouped/grouped.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

/// Lies in shared memory.
struct GroupedTileTable {
  i64 first_tile[kGroupedMaxGroups + 1];  // each group's first tile, then the number of all tiles
  i64 warp_sums[32];                      // for sum_of_lower_threads()
};

/// The sum of the values of all lower threads of the block. `warp_sums` lies in shared memory and
/// has an element for each warp. All threads of the block call it.
__device__ __forceinline__ i64 sum_of_lower_threads(i64 value, i64* warp_sums) {
  i64 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const i64 lower = __shfl_up_sync(0xffffffffu, sum, step);
    if (ptx::lane_id() >= step) sum += lower;
  }
  const u32 warp = threadIdx.x / 32;
  if (ptx::lane_id() == 31) warp_sums[warp] = sum;
  ptx::sync_block();
  i64 before = sum - value;
  for (u32 i = 0; i < warp; ++i) before += warp_sums[i];
  return before;
}

/// Fills the table; tiles_of(g) returns the number of tiles of group g. All threads of the block
/// call it.
template <class TilesOf>
__device__ __forceinline__ void grouped_make_table(GroupedTileTable& table, i32 groups,
                                                   TilesOf tiles_of) {
  const auto threads = static_cast<i32>(blockDim.x);
  const i32 each = (groups + threads - 1) / threads;
  const i32 begin = min(static_cast<i32>(threadIdx.x) * each, groups);
  const i32 end = min(begin + each, groups);
  i64 own = 0;
  for (i32 g = begin; g < end; ++g) {
    table.first_tile[g] = own;
    own += tiles_of(g);
  }
  const i64 before = sum_of_lower_threads(own, table.warp_sums);
  for (i32 g = begin; g < end; ++g) table.first_tile[g] += before;
  if (threadIdx.x == blockDim.x - 1) table.first_tile[groups] = before + own;
  ptx::sync_block();
}

/// The group of a tile. `tile` must be below first_tile[groups].
__device__ __forceinline__ i32 grouped_group_of_tile(const GroupedTileTable& table, i32 groups,
                                                     i64 tile) {
  i32 low = 0, high = groups;
  while (high - low > 1) {
    const i32 middle = (low + high) / 2;
    if (table.first_tile[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The rows of a group that are multiplied: none if the group is skipped or invalid.
__device__ __forceinline__ GroupRows grouped_multiplied_rows(const GroupedArgs& args, i32 g) {
  if (grouped_weight_index(args, g) < 0) return {0, 0, false};
  return grouped_rows(args, g, args.m);
}

}  // namespace tw
