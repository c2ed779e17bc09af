// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the group of an item of work; items are numbered group by group. Only the device knows how
// many items a group has, so each block makes a table when its kernel begins.

#include "kernels/grouped/grouped.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

/// In shared memory.
struct GroupedTable {
  i64 first[kGroupedMaxGroups +
            1];  // items of all lower groups; the last is the number of all items
  i64 of_warp[32];
};

/// The sum of the values of all lower threads of the block; `of_warp` has an element for each warp.
__device__ __forceinline__ i64 sum_of_lower(i64 value, i64* of_warp) {
  i64 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const i64 lower = __shfl_up_sync(0xffffffffu, sum, step);
    if (ptx::lane_id() >= step) sum += lower;
  }
  const u32 warp = threadIdx.x / 32;
  if (ptx::lane_id() == 31) of_warp[warp] = sum;
  ptx::sync_block();
  i64 before = sum - value;
  for (u32 i = 0; i < warp; ++i) before += of_warp[i];
  return before;
}

/// items_of(g) returns how many items group g has. All threads of the block call this function.
template <class ItemsOf>
__device__ __forceinline__ void grouped_make_table(GroupedTable& table, i32 groups,
                                                   ItemsOf items_of) {
  const auto threads = static_cast<i32>(blockDim.x);
  const i32 each = (groups + threads - 1) / threads;
  const i32 begin = min(static_cast<i32>(threadIdx.x) * each, groups);
  const i32 end = min(begin + each, groups);
  i64 own = 0;
  for (i32 g = begin; g < end; ++g) {
    table.first[g] = own;
    own += items_of(g);
  }
  const i64 before = sum_of_lower(own, table.of_warp);
  for (i32 g = begin; g < end; ++g) table.first[g] += before;
  if (threadIdx.x == blockDim.x - 1) table.first[groups] = before + own;
  ptx::sync_block();
}

/// The group of an item, which must exist.
__device__ __forceinline__ i32 grouped_find(const GroupedTable& table, i32 groups, i64 item) {
  i32 low = 0, high = groups;
  while (high - low > 1) {
    const i32 middle = (low + high) / 2;
    if (table.first[middle] <= item)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The rows of a group that are multiplied: none if the group is skipped or invalid.
__device__ __forceinline__ GroupRows grouped_live_rows(const GroupedArgs& args, i32 g) {
  if (grouped_weight(args, g) < 0) return {0, 0, false};
  return grouped_rows(args, g, args.m);
}

}  // namespace tw
