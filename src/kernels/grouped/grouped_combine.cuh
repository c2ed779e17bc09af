// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that add rows of a result to rows of D in a fixed order: kGroupedClear, kGroupedLink,
// kGroupedCombine.

#include "kernels/grouped/grouped_groups.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

struct none {};  // kernel entries name it as the type of D if that does not matter

/// Calls visit(i) for each i below `count`, divided among all threads of the grid.
template <class Visit>
__device__ __forceinline__ void grouped_each(i64 count, Visit visit) {
  const i64 threads = static_cast<i64>(blockDim.x) * gridDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads)
    visit(i);
}

/// Clears the bytes from `begin` to `end` - 1 that lie in the 16 bytes at `at`, an aligned address.
__device__ __forceinline__ void grouped_zero_piece(u64 at, u64 begin, u64 end) {
  if (at >= begin && at + 16 <= end) {
    ptx::store_unit<16>(at, make_uint4(0, 0, 0, 0));
    return;
  }
  for (u64 byte = at; byte < at + 16; byte += 2)
    if (byte >= begin && byte < end) ptx::store_unit<2>(byte, static_cast<unsigned short>(0));
}

/// Clears m lines of d_stride bytes, but not the bytes between the lines. A warp clears 512 bytes
/// of a line at a time.
__device__ __forceinline__ void grouped_zero(const GroupedArgs& args) {
  constexpr i64 kPiece = 512;
  const i64 pieces = (args.d_stride + 15) / kPiece + 1;  // enough for any alignment of the line
  grouped_each(args.m * pieces * 32, [&](i64 i) {
    const i64 line = i / 32 / pieces;
    const i64 piece = i / 32 - line * pieces;
    const u64 begin = args.d + static_cast<u64>(line * args.d_pitch);
    const u64 end = begin + static_cast<u64>(args.d_stride);
    const u64 at = begin / 16 * 16 + static_cast<u64>(piece * kPiece + i % 32 * 16);
    if (at < end) grouped_zero_piece(at, begin, end);
  });
}

__device__ __forceinline__ void grouped_clear(const GroupedArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  if (args.heads == 0) return grouped_zero(args);
  grouped_each(args.d_count, [&](i64 i) { reinterpret_cast<i32*>(args.heads)[i] = -1; });
}

__device__ __forceinline__ void grouped_link(const GroupedArgs& args) {
  __shared__ GroupedCover cover;
  ptx::grid_dependency_wait_and_launch();
  grouped_each_row(args, cover, [&](i32 r, bool covered) {
    const i32 row = covered ? grouped_d_row(args, r) : -1;
    reinterpret_cast<i32*>(args.links)[r] =
        row < 0 ? kGroupedUnlinked : atomicExch(reinterpret_cast<i32*>(args.heads) + row, r);
  });
}

inline constexpr u32 kCombineThreads = grouped_step_threads(kGroupedCombine);
// The longest list of rows that is sorted. For a longer list, all rows of the run are searched.
inline constexpr i32 kCombineFew = 64;

struct CombineShared {
  GroupRows groups[kGroupedMaxGroups];  // rows that are multiplied, for `inverse`
  i32 found[kCombineThreads];           // -1: none
  i32 rows[kCombineThreads];            // the rows to add next, in order
  u32 of_warp[kCombineThreads / 32];
  i32 count;  // length of a list; kCombineFew + 1: it is longer than kCombineFew
};

/// Each thread passes a row, or -1. Packs the rows in the order of the threads into shared.rows,
/// and returns their number.
__device__ __forceinline__ i32 combine_pack(CombineShared& shared, i32 row) {
  const u32 warp = threadIdx.x / 32;
  const u32 lanes = __ballot_sync(0xffffffffu, row >= 0);
  if (ptx::lane_id() == 0) shared.of_warp[warp] = static_cast<u32>(__popc(lanes));
  ptx::sync_block();
  u32 before = static_cast<u32>(__popc(lanes & ptx::lanes_below())), count = 0;
  for (u32 i = 0; i < kCombineThreads / 32; ++i) {
    if (i < warp) before += shared.of_warp[i];
    count += shared.of_warp[i];
  }
  if (row >= 0) shared.rows[before] = row;
  ptx::sync_block();
  return static_cast<i32>(count);
}

/// Whether row `r` belongs to a group that is multiplied. All lanes of a warp pass the same row.
__device__ __forceinline__ bool combine_is_live(const GroupedArgs& args,
                                                const CombineShared& shared, i32 r) {
  for (i32 first = 0; first < args.group_count; first += 32) {
    const i32 g = first + static_cast<i32>(ptx::lane_id());
    const bool mine =
        g < args.group_count && r >= shared.groups[g].begin && r < shared.groups[g].end;
    if (__any_sync(0xffffffffu, mine)) return true;
  }
  return false;
}

/// Packs the rows that `inverse` names for row `to` of D, from entry `first` on, into shared.rows,
/// and returns their number. The warps divide the entries and check that each row is in a group.
__device__ __forceinline__ i32 combine_inverse(const GroupedArgs& args, CombineShared& shared,
                                               i32 to, i32 first) {
  const auto* const line =
      reinterpret_cast<const i32*>(args.inverse) + static_cast<i64>(to) * args.d_divisor + first;
  const i32 places = min(args.d_divisor - first, static_cast<i32>(kCombineThreads));
  for (auto i = static_cast<i32>(threadIdx.x / 32); i < places;
       i += static_cast<i32>(kCombineThreads / 32)) {
    const i32 r = line[i];
    const bool live = r >= 0 && r < args.m && combine_is_live(args, shared, r);
    if (ptx::lane_id() == 0) shared.found[i] = live ? r : -1;
  }
  ptx::sync_block();
  const auto place = static_cast<i32>(threadIdx.x);
  return combine_pack(shared, place < places ? shared.found[place] : -1);
}

/// Sorts the rows in the list of row `to` of D into shared.rows, with one thread per row, and
/// returns their number. If there are more than kCombineFew, nothing is sorted and kCombineFew + 1
/// returned.
__device__ __forceinline__ i32 combine_list(const GroupedArgs& args, CombineShared& shared,
                                            i32 to) {
  if (threadIdx.x == 0) {
    i32 count = 0;
    for (i32 r = reinterpret_cast<const i32*>(args.heads)[to]; r >= 0 && count <= kCombineFew;
         r = reinterpret_cast<const i32*>(args.links)[r])
      shared.found[count++] = r;
    shared.count = count;
  }
  ptx::sync_block();
  const i32 count = shared.count;
  const auto own = static_cast<i32>(threadIdx.x);
  if (count <= kCombineFew && own < count) {
    i32 place = 0;
    for (i32 i = 0; i < count; ++i) place += shared.found[i] < shared.found[own] ? 1 : 0;
    shared.rows[place] = shared.found[own];
  }
  ptx::sync_block();
  return count;
}

/// Packs those of the rows from `first` on that go to row `to` of D, one row for each thread.
__device__ __forceinline__ i32 combine_scan(const GroupedArgs& args, CombineShared& shared, i32 to,
                                            i64 first) {
  const i64 r = first + threadIdx.x;
  bool mine = false;
  if (r < args.m) {
    const auto row = static_cast<i32>(r);
    mine = reinterpret_cast<const i32*>(args.links)[row] != kGroupedUnlinked &&
           grouped_d_row(args, row) == to;
  }
  return combine_pack(shared, mine ? static_cast<i32>(r) : -1);
}

/// Calls add(count) for each batch of rows that go to row `to`. All threads of the block must call
/// it. The search for the next batch begins with a barrier, so it overwrites the list of rows only
/// after all threads have added them.
template <class Add>
__device__ __forceinline__ void combine_rows(const GroupedArgs& args, CombineShared& shared, i32 to,
                                             Add add) {
  if (args.inverse != 0) {
    for (i32 first = 0; first < args.d_divisor; first += static_cast<i32>(kCombineThreads))
      add(combine_inverse(args, shared, to, first));
    return;
  }
  const i32 count = combine_list(args, shared, to);
  if (count <= kCombineFew) return add(count);
  for (i64 first = 0; first < args.m; first += kCombineThreads)
    add(combine_scan(args, shared, to, first));
}

/// Adds eight columns of `count` rows, one row after the other.
template <class Out>
__device__ __forceinline__ void combine_add(const GroupedArgs& args, const CombineShared& shared,
                                            i32 at, i32 count, float (&sum)[8]) {
#pragma unroll 4
  for (i32 i = 0; i < count; ++i) {
    float v[8] = {};
    const i64 element = shared.rows[i] * args.a_pitch + at;
    full_load<Out>(args.a + static_cast<u64>(element * i64{Out::kBytes}), 1, args.n - at, v);
#pragma unroll
    for (i32 j = 0; j < 8; ++j) sum[j] += v[j];
  }
}

/// A block sums one row of D at a time, or a part of it: eight columns for each thread.
template <class Out>
__device__ __forceinline__ void grouped_combine(const GroupedArgs& args) {
  __shared__ CombineShared shared;
  ptx::grid_dependency_wait_and_launch();
  if (args.inverse != 0) grouped_load_groups(args, shared.groups);
  constexpr i32 kColumns = static_cast<i32>(kCombineThreads) * 8;
  const i32 parts = grouped_combine_parts(args.n);
  const i64 items = static_cast<i64>(args.d_count) * parts;
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    const auto to = static_cast<i32>(item / parts);
    const i32 at = static_cast<i32>(item % parts) * kColumns + static_cast<i32>(threadIdx.x) * 8;
    float sum[8] = {};
    combine_rows(args, shared, to, [&](i32 count) {
      if (at < args.n) combine_add<Out>(args, shared, at, count, sum);
    });
    if (at >= args.n) continue;
    const i64 element = to * args.d_pitch + at;
    full_store<Out>(args.d + static_cast<u64>(element * i64{Out::kBytes}), args.n - at, sum);
  }
}

}  // namespace tw
