// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps that add rows of the product in a fixed order: to each other, or to rows of D.
//
// grouped_clear() resets the heads of one list per row of D. grouped_link() puts each row of the
// product into the list of its row of D, in the arbitrary order of atomics. grouped_combine() sorts
// each list, adds its rows and writes D. With `inverse` the caller gives the rows of each sum, so
// that no lists are needed.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/grouped/grouped_groups.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

struct none {};  // the type of D in kernel entries that do not depend on it

/// Calls visit(i) for each i below `count`, divided among all threads of the grid.
template <class Visit>
__device__ __forceinline__ void grouped_each(i64 count, Visit visit) {
  const i64 threads = static_cast<i64>(blockDim.x) * gridDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads)
    visit(i);
}

/// Zeroes the bytes of a piece of 16 bytes that lie in [begin, end). `piece` is its aligned
/// address.
__device__ __forceinline__ void grouped_zero_piece(u64 piece, u64 begin, u64 end) {
  if (piece >= begin && piece + 16 <= end) {
    ptx::store_unit<16>(piece, make_uint4(0, 0, 0, 0));
    return;
  }
  for (u64 byte = piece; byte < piece + 16; byte += 2)
    if (byte >= begin && byte < end) ptx::store_unit<2>(byte, static_cast<unsigned short>(0));
}

/// Zeroes m rows of d_stride bytes, but not the bytes between them. A warp zeroes 512 bytes of a
/// row at a time.
__device__ __forceinline__ void grouped_zero(const GroupedArgs& args) {
  constexpr i64 kWarpBytes = 512;
  const i64 warps = (args.d_stride + 15) / kWarpBytes + 1;  // for a row with any alignment
  grouped_each(args.m * warps * 32, [&](i64 i) {
    const i64 row = i / 32 / warps;
    const i64 warp = i / 32 - row * warps;
    const u64 begin = args.d + static_cast<u64>(row * args.d_pitch);
    const u64 end = begin + static_cast<u64>(args.d_stride);
    const u64 piece = begin / 16 * 16 + static_cast<u64>(warp * kWarpBytes + i % 32 * 16);
    if (piece < end) grouped_zero_piece(piece, begin, end);
  });
}

__device__ __forceinline__ void grouped_clear(const GroupedArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  if (args.heads == 0) return grouped_zero(args);
  grouped_each(args.d_count, [&](i64 i) { reinterpret_cast<i32*>(args.heads)[i] = -1; });
}

__device__ __forceinline__ void grouped_link(const GroupedArgs& args) {
  __shared__ GroupedCoverage coverage;
  ptx::grid_dependency_wait_and_launch();
  grouped_each_row(args, coverage, [&](i32 r, bool covered) {
    const i32 row = covered ? grouped_d_row(args, r) : -1;
    reinterpret_cast<i32*>(args.links)[r] =
        row < 0 ? kGroupedUnlinked : atomicExch(reinterpret_cast<i32*>(args.heads) + row, r);
  });
}

inline constexpr u32 kCombineThreads = grouped_step_threads(kGroupedCombine);
// The longest list that is sorted. For a longer one, the block scans all rows of the run in order.
inline constexpr i32 kCombineMaxSorted = 64;

struct CombineShared {
  GroupRows groups[kGroupedMaxGroups];    // only with `inverse`; empty for skipped groups
  i32 found[kCombineThreads];             // candidate rows, -1: none
  i32 rows[kCombineThreads];              // the rows to add next, in the order of addition
  u32 warp_counts[kCombineThreads / 32];  // rows found by each warp
  i32 count;                              // length of a list, at most kCombineMaxSorted + 1
};

/// Collects the rows of all threads in shared.rows, in thread order, and returns their number.
/// `row` is -1 in a thread without a row. All threads of the block call it.
__device__ __forceinline__ i32 combine_pack(CombineShared& shared, i32 row) {
  const u32 warp = threadIdx.x / 32;
  const u32 lanes = __ballot_sync(0xffffffffu, row >= 0);
  if (ptx::lane_id() == 0) shared.warp_counts[warp] = static_cast<u32>(__popc(lanes));
  ptx::sync_block();
  u32 before = static_cast<u32>(__popc(lanes & ptx::lanes_below())), count = 0;
  for (u32 i = 0; i < kCombineThreads / 32; ++i) {
    if (i < warp) before += shared.warp_counts[i];
    count += shared.warp_counts[i];
  }
  if (row >= 0) shared.rows[before] = row;
  ptx::sync_block();
  return static_cast<i32>(count);
}

/// Whether row r belongs to a group that is multiplied. All lanes of a warp pass the same row.
__device__ __forceinline__ bool combine_is_multiplied(const GroupedArgs& args,
                                                      const CombineShared& shared, i32 r) {
  for (i32 first = 0; first < args.group_count; first += 32) {
    const i32 g = first + static_cast<i32>(ptx::lane_id());
    const bool mine =
        g < args.group_count && r >= shared.groups[g].begin && r < shared.groups[g].end;
    if (__any_sync(0xffffffffu, mine)) return true;
  }
  return false;
}

/// Puts the rows that `inverse` lists for row d_row of D, from entry `first` on, into shared.rows
/// and returns their number. Each warp checks its share of the entries.
__device__ __forceinline__ i32 combine_inverse(const GroupedArgs& args, CombineShared& shared,
                                               i32 d_row, i32 first) {
  const auto* const entries =
      reinterpret_cast<const i32*>(args.inverse) + static_cast<i64>(d_row) * args.d_divisor + first;
  const i32 count = min(args.d_divisor - first, static_cast<i32>(kCombineThreads));
  for (auto i = static_cast<i32>(threadIdx.x / 32); i < count;
       i += static_cast<i32>(kCombineThreads / 32)) {
    const i32 r = entries[i];
    const bool adds = r >= 0 && r < args.m && combine_is_multiplied(args, shared, r);
    if (ptx::lane_id() == 0) shared.found[i] = adds ? r : -1;
  }
  ptx::sync_block();
  const auto own = static_cast<i32>(threadIdx.x);
  return combine_pack(shared, own < count ? shared.found[own] : -1);
}

/// Puts the list of row d_row of D into shared.rows in ascending order and returns its length. For
/// a list longer than kCombineMaxSorted it returns kCombineMaxSorted + 1 and does not sort.
__device__ __forceinline__ i32 combine_list(const GroupedArgs& args, CombineShared& shared,
                                            i32 d_row) {
  if (threadIdx.x == 0) {
    i32 count = 0;
    for (i32 r = reinterpret_cast<const i32*>(args.heads)[d_row];
         r >= 0 && count <= kCombineMaxSorted; r = reinterpret_cast<const i32*>(args.links)[r])
      shared.found[count++] = r;
    shared.count = count;
  }
  ptx::sync_block();
  const i32 count = shared.count;
  const auto own = static_cast<i32>(threadIdx.x);
  if (count <= kCombineMaxSorted && own < count) {
    i32 place = 0;
    for (i32 i = 0; i < count; ++i) place += shared.found[i] < shared.found[own] ? 1 : 0;
    shared.rows[place] = shared.found[own];
  }
  ptx::sync_block();
  return count;
}

/// Looks at one row per thread, from row `first` of the product on. Puts the rows that belong to
/// row d_row of D into shared.rows and returns their number.
__device__ __forceinline__ i32 combine_scan(const GroupedArgs& args, CombineShared& shared,
                                            i32 d_row, i64 first) {
  const i64 r = first + threadIdx.x;
  bool mine = false;
  if (r < args.m) {
    const auto row = static_cast<i32>(r);
    mine = reinterpret_cast<const i32*>(args.links)[row] != kGroupedUnlinked &&
           grouped_d_row(args, row) == d_row;
  }
  return combine_pack(shared, mine ? static_cast<i32>(r) : -1);
}

/// Finds the rows to add to row d_row of D, batch by batch, and calls add(number of rows in
/// shared.rows) for each batch. All threads of the block call it. No barrier follows add(), because
/// each function that finds rows has a barrier before it overwrites shared.rows.
template <class Add>
__device__ __forceinline__ void combine_rows(const GroupedArgs& args, CombineShared& shared,
                                             i32 d_row, Add add) {
  if (args.inverse != 0) {
    for (i32 first = 0; first < args.d_divisor; first += static_cast<i32>(kCombineThreads))
      add(combine_inverse(args, shared, d_row, first));
    return;
  }
  const i32 count = combine_list(args, shared, d_row);
  if (count <= kCombineMaxSorted) return add(count);
  for (i64 first = 0; first < args.m; first += kCombineThreads)
    add(combine_scan(args, shared, d_row, first));
}

template <class Out>
__device__ __forceinline__ void combine_add(const GroupedArgs& args, const CombineShared& shared,
                                            i32 column, i32 count, float (&sum)[8]) {
#pragma unroll 4
  for (i32 i = 0; i < count; ++i) {
    float v[8] = {};
    const i64 element = shared.rows[i] * args.a_pitch + column;
    full_load<Out>(args.a + static_cast<u64>(element * i64{Out::kBytes}), 1, args.n - column, v);
#pragma unroll
    for (i32 j = 0; j < 8; ++j) sum[j] += v[j];
  }
}

template <class Out>
__device__ __forceinline__ void grouped_combine(const GroupedArgs& args) {
  __shared__ CombineShared shared;
  ptx::grid_dependency_wait_and_launch();
  if (args.inverse != 0) grouped_load_groups(args, shared.groups);
  constexpr i32 kColumns = static_cast<i32>(kCombineThreads) * 8;
  const i32 slices = grouped_combine_blocks(args.n);  // of a row: kColumns columns each
  const i64 items = static_cast<i64>(args.d_count) * slices;
  const bool adds_to_d = (args.flags & kGroupedAddsToD) != 0;
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    const auto d_row = static_cast<i32>(item / slices);
    const i32 column =
        static_cast<i32>(item % slices) * kColumns + static_cast<i32>(threadIdx.x) * 8;
    const i64 element = d_row * args.d_pitch + column;
    const u64 to = args.d + static_cast<u64>(element * i64{Out::kBytes});
    float sum[8] = {};
    // The old elements are loaded before the rows are found, so that both take place together.
    if (adds_to_d && column < args.n) full_load<Out>(to, 1, args.n - column, sum);
    bool any = !adds_to_d;
    combine_rows(args, shared, d_row, [&](i32 count) {
      any = any || count > 0;
      if (column < args.n) combine_add<Out>(args, shared, column, count, sum);
    });
    if (any && column < args.n) full_store<Out>(to, args.n - column, sum);
  }
}

}  // namespace tw
