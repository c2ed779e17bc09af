// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that only read the grouping: kGroupedFind computes the rows of each group from the
// group of each row; kGroupedCheck counts invalid numbers.

#include "kernels/grouped/grouped_table.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/reduce.cuh"

namespace tw {

/// Adds the numbers of faults that the warp's lanes have counted to the caller's counter.
__device__ __forceinline__ void grouped_count_faults(const GroupedArgs& args, u32 faults) {
  if (args.faults == 0) return;
  faults = __reduce_add_sync(0xffffffffu, faults);
  if (ptx::lane_id() == 0 && faults != 0)
    ptx::reduce_add_u64(args.faults, static_cast<u64>(faults));
}

/// The runs of equal group numbers that a block has seen: for each group, their number, and the
/// sums of their begins and ends. If a group has a single run, the sums over all blocks are its
/// begin and end. Otherwise its rows are not consecutive.
struct GroupedRuns {
  u32 count[kGroupedMaxGroups];
  u32 begin[kGroupedMaxGroups];
  u32 end[kGroupedMaxGroups];
};

__device__ __forceinline__ bool grouped_is_group(const GroupedArgs& args, i64 number) {
  return number >= 0 && number < args.group_count;
}

/// Compares the group numbers on both sides of kEdges borders between rows, from border `from` on,
/// `step` apart. Returns the number of faults.
__device__ __forceinline__ u32 grouped_look_for_runs(const GroupedArgs& args, i64 from, i64 step,
                                                     GroupedRuns& runs) {
  constexpr i32 kEdges = 4;  // loads in flight
  i64 left[kEdges], right[kEdges];
#pragma unroll
  for (i32 i = 0; i < kEdges; ++i) {
    const i64 edge = from + i * step;
    left[i] = edge > 0 && edge <= args.m ? grouped_number(args.groups, args.wide, edge - 1) : -1;
    right[i] = edge < args.m ? grouped_number(args.groups, args.wide, edge) : -1;
  }
  u32 faults = 0;
#pragma unroll
  for (i32 i = 0; i < kEdges; ++i) {
    const auto edge = static_cast<u32>(from + i * step);
    faults += right[i] != -1 && !grouped_is_group(args, right[i]) ? 1 : 0;
    if (left[i] == right[i]) continue;
    if (grouped_is_group(args, left[i])) atomicAdd(runs.end + left[i], edge);
    if (!grouped_is_group(args, right[i])) continue;
    atomicAdd(runs.begin + right[i], edge);
    atomicAdd(runs.count + right[i], 1u);
  }
  return faults;
}

/// The sum of own[g] over the blocks of the cluster.
__device__ __forceinline__ u32 grouped_cluster_sum(const u32* own, i32 g) {
  const u32 address = ptx::shared_address(own + g);
  u32 sum = 0;
  for (u32 rank = 0; rank < ptx::cluster_size(); ++rank)
    sum += ptx::load_cluster_u32(ptx::cluster_address(address, rank));
  return sum;
}

/// One cluster: its blocks look for runs, and each then writes its share of the groups.
__device__ __forceinline__ void grouped_find_rows(const GroupedArgs& args) {
  __shared__ GroupedRuns runs;
  ptx::grid_dependency_wait_and_launch();
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x))
    runs.count[g] = runs.begin[g] = runs.end[g] = 0;
  ptx::sync_block();
  const i64 threads = static_cast<i64>(blockDim.x) * gridDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  u32 faults = 0;
  for (i64 edge = thread; edge <= args.m; edge += threads * 4)
    faults += grouped_look_for_runs(args, edge, threads, runs);
  grouped_count_faults(args, faults);
  ptx::cluster_arrive();
  ptx::cluster_wait();
  for (i64 g = thread; g < args.group_count; g += threads) {
    const auto group = static_cast<i32>(g);
    const u32 count = grouped_cluster_sum(runs.count, group);
    const u32 begin = count == 1 ? grouped_cluster_sum(runs.begin, group) : count == 0 ? 0 : 1;
    const u32 end = count == 1 ? grouped_cluster_sum(runs.end, group) : 0;
    ptx::store_unit<8>(args.found + static_cast<u64>(g) * 8, begin | static_cast<u64>(end) << 32);
  }
  // No block may end while others read its shared memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

/// Finds out which rows belong to groups, for as many consecutive rows at a time as a block has
/// threads. `change` counts the groups that begin and end at each row; the sum up to a row is the
/// number of groups that contain it.
struct GroupedCover {
  GroupRows groups[kGroupedMaxGroups];  // rows that are multiplied
  i32 change[grouped_step_threads(kGroupedLink)];
  i64 of_warp[32];
};

__device__ __forceinline__ void grouped_load_groups(const GroupedArgs& args, GroupRows* groups) {
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x))
    groups[g] = grouped_live_rows(args, g);
  ptx::sync_block();
}

/// Whether row first + threadIdx.x is in a group that is multiplied.
__device__ __forceinline__ bool grouped_covers(const GroupedArgs& args, GroupedCover& cover,
                                               i64 first) {
  const auto thread = static_cast<i32>(threadIdx.x), threads = static_cast<i32>(blockDim.x);
  cover.change[thread] = 0;
  ptx::sync_block();
  for (i32 g = thread; g < args.group_count; g += threads) {
    const i64 begin = max(cover.groups[g].begin - first, i64{0});
    const i64 end = cover.groups[g].end - first;
    if (begin >= end || begin >= threads) continue;
    atomicAdd(cover.change + begin, 1);
    if (end < threads) atomicAdd(cover.change + end, -1);
  }
  ptx::sync_block();
  const i64 own = cover.change[thread];
  return sum_of_lower(own, cover.of_warp) + own > 0;
}

/// Calls visit(r, covered) for each row r of the run; `covered`: it is in a group that is
/// multiplied.
template <class Visit>
__device__ __forceinline__ void grouped_each_row(const GroupedArgs& args, GroupedCover& cover,
                                                 Visit visit) {
  grouped_load_groups(args, cover.groups);
  for (i64 first = static_cast<i64>(blockIdx.x) * blockDim.x; first < args.m;
       first += static_cast<i64>(gridDim.x) * blockDim.x) {
    const bool covered = grouped_covers(args, cover, first);
    const i64 r = first + threadIdx.x;
    if (r < args.m) visit(static_cast<i32>(r), covered);
  }
}

__device__ __forceinline__ u32 grouped_check_groups(const GroupedArgs& args) {
  const i64 most = args.kind == kGroupsRanges ? args.k : args.m;
  u32 faults = 0;
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x)) {
    faults += grouped_rows(args, g, most).fault ? 1 : 0;
    faults += grouped_weight(args, g) == -2 ? 1 : 0;
  }
  return faults;
}

__device__ __forceinline__ u32 grouped_check_row(const GroupedArgs& args, i32 r) {
  const auto fault = [&](u64 indices, i32 divisor, i32 count) -> u32 {
    const i64 index = grouped_number(indices, args.wide_rows, r);
    return index != -1 && grouped_row(index, divisor, count) < 0 ? 1 : 0;
  };
  u32 faults = 0;
  if (args.a_rows != 0) faults += fault(args.a_rows, args.a_divisor, args.a_count);
  if (args.out != kRowsInPlace) faults += fault(args.d_rows, args.d_divisor, args.d_count);
  return faults;
}

__device__ __forceinline__ void grouped_check(const GroupedArgs& args) {
  __shared__ GroupedCover cover;
  ptx::grid_dependency_wait_and_launch();
  u32 faults = blockIdx.x == 0 ? grouped_check_groups(args) : 0;
  if (args.kind != kGroupsRanges && (args.a_rows != 0 || args.out != kRowsInPlace))
    grouped_each_row(args, cover, [&](i32 r, bool covered) {
      if (covered) faults += grouped_check_row(args, r);
    });
  grouped_count_faults(args, faults);
}

}  // namespace tw
