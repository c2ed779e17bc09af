// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps that read group numbers and indices but no matrices. grouped_find_rows() derives the
// rows of each group from the group of each row. grouped_check() counts invalid numbers.

#include "kernels/grouped/grouped_table.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/reduce.cuh"

namespace tw {

__device__ __forceinline__ void grouped_count_invalid(const GroupedArgs& args, u32 invalid) {
  if (args.invalid_count == 0) return;
  invalid = __reduce_add_sync(0xffffffffu, invalid);
  if (ptx::lane_id() == 0 && invalid != 0)
    ptx::reduce_add_u64(args.invalid_count, static_cast<u64>(invalid));
}

/// A segment is a sequence of neighboring rows of one group. For each group: the number of its
/// segments, and the sums of their begins and of their ends, among the rows that one block reads.
/// If a group has a single segment, the sums over all blocks are its begin and end. A group with
/// several segments is not contiguous, which is invalid.
struct GroupedSegments {
  u32 count[kGroupedMaxGroups];
  u32 begin[kGroupedMaxGroups];
  u32 end[kGroupedMaxGroups];
};

__device__ __forceinline__ bool grouped_is_group(const GroupedArgs& args, i64 number) {
  return number >= 0 && number < args.group_count;
}

/// Records the segments that begin or end at four edges, which are `step` rows apart from `from`
/// on. Edge e is the border between rows e - 1 and e. Returns how many of the rows e have an
/// invalid group number.
__device__ __forceinline__ u32 grouped_find_segments(const GroupedArgs& args, i64 from, i64 step,
                                                     GroupedSegments& segments) {
  constexpr i32 kEdges = 4;           // limited by the registers for loads in flight
  i64 before[kEdges], after[kEdges];  // group numbers of the rows before and after the edge
#pragma unroll
  for (i32 i = 0; i < kEdges; ++i) {
    const i64 edge = from + i * step;
    before[i] =
        edge > 0 && edge <= args.m ? grouped_index(args.groups, args.groups_i64, edge - 1) : -1;
    after[i] = edge < args.m ? grouped_index(args.groups, args.groups_i64, edge) : -1;
  }
  u32 invalid = 0;
#pragma unroll
  for (i32 i = 0; i < kEdges; ++i) {
    const auto edge = static_cast<u32>(from + i * step);
    invalid += after[i] != -1 && !grouped_is_group(args, after[i]) ? 1 : 0;
    if (before[i] == after[i]) continue;
    if (grouped_is_group(args, before[i])) atomicAdd(segments.end + before[i], edge);
    if (!grouped_is_group(args, after[i])) continue;
    atomicAdd(segments.begin + after[i], edge);
    atomicAdd(segments.count + after[i], 1u);
  }
  return invalid;
}

__device__ __forceinline__ u32 grouped_cluster_sum(const u32* own, i32 g) {
  const u32 address = ptx::shared_address(own + g);
  u32 sum = 0;
  for (u32 rank = 0; rank < ptx::cluster_size(); ++rank)
    sum += ptx::load_cluster_u32(ptx::cluster_address(address, rank));
  return sum;
}

/// The grid is one cluster. Its blocks find segments, then each writes its share of the groups.
__device__ __forceinline__ void grouped_find_rows(const GroupedArgs& args) {
  __shared__ GroupedSegments segments;
  ptx::grid_dependency_wait_and_launch();
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x))
    segments.count[g] = segments.begin[g] = segments.end[g] = 0;
  ptx::sync_block();
  const i64 threads = static_cast<i64>(blockDim.x) * gridDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  u32 invalid = 0;
  for (i64 edge = thread; edge <= args.m; edge += threads * 4)
    invalid += grouped_find_segments(args, edge, threads, segments);
  grouped_count_invalid(args, invalid);
  ptx::cluster_arrive();
  ptx::cluster_wait();
  for (i64 g = thread; g < args.group_count; g += threads) {
    const auto group = static_cast<i32>(g);
    const u32 count = grouped_cluster_sum(segments.count, group);
    const u32 begin = count == 1 ? grouped_cluster_sum(segments.begin, group) : count == 0 ? 0 : 1;
    const u32 end = count == 1 ? grouped_cluster_sum(segments.end, group) : 0;
    ptx::store_unit<8>(args.found_groups + static_cast<u64>(g) * 8, begin | static_cast<u64>(end)
                                                                                << 32);
  }
  // No block may end while others read its shared memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

/// Tells which rows of a block, one per thread, are in a group. change[i] is the number of
/// groups that begin at row i minus the number of groups that end there, so that the sum of
/// change[0] to change[i] is the number of groups that contain row i.
struct GroupedCoverage {
  GroupRows groups[kGroupedMaxGroups];  // empty for groups that are not multiplied
  i32 change[grouped_step_threads(kGroupedLink)];
  i64 warp_sums[32];
};

__device__ __forceinline__ void grouped_load_groups(const GroupedArgs& args, GroupRows* groups) {
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x))
    groups[g] = grouped_multiplied_rows(args, g);
  ptx::sync_block();
}

/// Whether row first + threadIdx.x is in a group that is multiplied.
__device__ __forceinline__ bool grouped_is_covered(const GroupedArgs& args,
                                                   GroupedCoverage& coverage, i64 first) {
  const auto thread = static_cast<i32>(threadIdx.x), threads = static_cast<i32>(blockDim.x);
  coverage.change[thread] = 0;
  ptx::sync_block();
  for (i32 g = thread; g < args.group_count; g += threads) {
    const i64 begin = max(coverage.groups[g].begin - first, i64{0});
    const i64 end = coverage.groups[g].end - first;
    if (begin >= end || begin >= threads) continue;
    atomicAdd(coverage.change + begin, 1);
    if (end < threads) atomicAdd(coverage.change + end, -1);
  }
  ptx::sync_block();
  const i64 own = coverage.change[thread];
  return sum_of_lower_threads(own, coverage.warp_sums) + own > 0;
}

/// Calls visit(r, whether r is in a group that is multiplied) for each row of the run.
template <class Visit>
__device__ __forceinline__ void grouped_each_row(const GroupedArgs& args, GroupedCoverage& coverage,
                                                 Visit visit) {
  grouped_load_groups(args, coverage.groups);
  for (i64 first = static_cast<i64>(blockIdx.x) * blockDim.x; first < args.m;
       first += static_cast<i64>(gridDim.x) * blockDim.x) {
    const bool covered = grouped_is_covered(args, coverage, first);
    const i64 r = first + threadIdx.x;
    if (r < args.m) visit(static_cast<i32>(r), covered);
  }
}

__device__ __forceinline__ u32 grouped_check_groups(const GroupedArgs& args) {
  const i64 extent = args.grouping == kGroupsRanges ? args.k : args.m;
  u32 invalid = 0;
  for (auto g = static_cast<i32>(threadIdx.x); g < args.group_count;
       g += static_cast<i32>(blockDim.x)) {
    invalid += grouped_rows(args, g, extent).invalid ? 1 : 0;
    invalid += grouped_weight_index(args, g) == -2 ? 1 : 0;
  }
  return invalid;
}

__device__ __forceinline__ u32 grouped_check_row(const GroupedArgs& args, i32 r) {
  const auto is_invalid = [&](u64 indices, i32 divisor, i32 count) -> u32 {
    const i64 index = grouped_index(indices, args.rows_i64, r);
    return index != -1 && grouped_row(index, divisor, count) < 0 ? 1 : 0;
  };
  u32 invalid = 0;
  if (args.a_rows != 0) invalid += is_invalid(args.a_rows, args.a_divisor, args.a_count);
  if (args.row_output != kRowsInPlace)
    invalid += is_invalid(args.d_rows, args.d_divisor, args.d_count);
  return invalid;
}

__device__ __forceinline__ void grouped_check(const GroupedArgs& args) {
  __shared__ GroupedCoverage coverage;
  ptx::grid_dependency_wait_and_launch();
  u32 invalid = blockIdx.x == 0 ? grouped_check_groups(args) : 0;
  if (args.grouping != kGroupsRanges && (args.a_rows != 0 || args.row_output != kRowsInPlace))
    grouped_each_row(args, coverage, [&](i32 r, bool covered) {
      if (covered) invalid += grouped_check_row(args, r);
    });
  grouped_count_invalid(args, invalid);
}

}  // namespace tw
