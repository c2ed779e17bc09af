// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stable radix sort of index numbers by table row. (Index number i is index[i].) Each 8-bit pass
// has three kernels: blocks count their digits, one block turns the counts into positions, and
// blocks move their index numbers there. The result does not depend on the order in which blocks
// run.

#include "kernels/rows/row_index.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

inline constexpr u32 kSortWarps = kRowsBlockThreads / 32;
inline constexpr u32 kSortWarpItems = kSortBlockItems / kSortWarps;

struct SortedIndex {
  u32 number;
  u32 digit;  // kSortDigits: there is no index
};

__device__ __forceinline__ SortedIndex sorted_index(const OrderArgs& args, i64 count, u64 at) {
  if (at >= static_cast<u64>(count)) return {0, kSortDigits};
  const u32 number =
      args.from == 0 ? static_cast<u32>(at) : ptx::load_unit_cached<4>(args.from + at * 4);
  const u64 key = sort_key(table_row_of(args.rows, number), args.rows.table_rows);
  return {number, static_cast<u32>(key >> args.shift) % kSortDigits};
}

/// Number of lower lanes with the same digit, and of all lanes with it.
struct DigitPeers {
  u32 before;
  u32 all;
};
__device__ __forceinline__ DigitPeers digit_peers(u32 digit) {
  const u32 peers = __match_any_sync(0xffffffffu, digit);
  const u32 lower = (1u << ptx::lane_id()) - 1;
  return {static_cast<u32>(__popc(peers & lower)), static_cast<u32>(__popc(peers))};
}

__device__ __forceinline__ void count_warp(const OrderArgs& args, i64 count, u32 block,
                                           u32 (&counts)[kSortDigits]) {
  for (u32 digit = ptx::lane_id(); digit < kSortDigits; digit += 32) counts[digit] = 0;
  ptx::sync_warp();
  const u64 first = static_cast<u64>(block) * kSortBlockItems + threadIdx.x / 32 * kSortWarpItems;
  for (u32 k = ptx::lane_id(); k < kSortWarpItems; k += 32) {
    const SortedIndex index = sorted_index(args, count, first + k);
    const DigitPeers peers = digit_peers(index.digit);
    if (peers.before == 0 && index.digit < kSortDigits) counts[index.digit] += peers.all;
    ptx::sync_warp();
  }
}

using WarpCounts = u32[kSortWarps][kSortDigits];

__device__ __forceinline__ void count_block(const OrderArgs& args, u32 block, WarpCounts& counts) {
  count_warp(args, run_count(args.rows), block, counts[threadIdx.x / 32]);
  ptx::sync_block();
  u32 sum = 0;
#pragma unroll
  for (u32 warp = 0; warp < kSortWarps; ++warp) sum += counts[warp][threadIdx.x];
  ptx::store_unit<4>(args.digit_counts + (static_cast<u64>(threadIdx.x) * args.blocks + block) * 4,
                     sum);
}

/// Exclusive prefix sum over all counts, [digit][block], by one block. Each thread handles
/// kScanItems adjacent counts per iteration; the number of counts is a multiple of kSortDigits.
__device__ __forceinline__ void scatter_scan(const OrderArgs& args) {
  constexpr u32 kScanItems = 16;
  __shared__ u32 warp_sums[kRowsScanThreads / 32];
  const u64 total = static_cast<u64>(args.blocks) * kSortDigits;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32;
  u32 before = 0;
  for (u64 base = 0; base < total; base += kRowsScanThreads * kScanItems) {
    const u64 at = base + threadIdx.x * kScanItems;
    auto* const counts = reinterpret_cast<uint4*>(args.digit_counts) + at / 4;
    u32 own[kScanItems] = {};
    u32 all = 0;
#pragma unroll
    for (u32 k = 0; k < kScanItems; k += 4) {
      const uint4 four = at < total ? counts[k / 4] : uint4{};
      own[k] = all;
      own[k + 1] = own[k] + four.x;
      own[k + 2] = own[k + 1] + four.y;
      own[k + 3] = own[k + 2] + four.z;
      all = own[k + 3] + four.w;
    }
    u32 sum = all;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 lower = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += lower;
    }
    ptx::sync_block();  // warp_sums of the previous iteration have been read
    if (lane == 31) warp_sums[warp] = sum;
    ptx::sync_block();
    u32 first = before + sum - all;
    for (u32 w = 0; w < kRowsScanThreads / 32; ++w) {
      if (w < warp) first += warp_sums[w];
      before += warp_sums[w];
    }
#pragma unroll
    for (u32 k = 0; k < kScanItems; k += 4)
      if (at < total)
        counts[k / 4] =
            make_uint4(first + own[k], first + own[k + 1], first + own[k + 2], first + own[k + 3]);
  }
}

__device__ __forceinline__ void place_block(const OrderArgs& args, u32 block, WarpCounts& counts) {
  const i64 count = run_count(args.rows);
  const u32 warp = threadIdx.x / 32;
  count_warp(args, count, block, counts[warp]);
  ptx::sync_block();
  // Turns the counts into the position of each warp's first index with a digit.
  u32 place = ptx::load_unit_cached<4>(args.digit_counts +
                                       (static_cast<u64>(threadIdx.x) * args.blocks + block) * 4);
#pragma unroll
  for (u32 w = 0; w < kSortWarps; ++w) {
    const u32 own = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = place;
    place += own;
  }
  ptx::sync_block();
  const u64 first = static_cast<u64>(block) * kSortBlockItems + warp * kSortWarpItems;
  for (u32 k = ptx::lane_id(); k < kSortWarpItems; k += 32) {
    const SortedIndex index = sorted_index(args, count, first + k);
    const DigitPeers peers = digit_peers(index.digit);
    const bool has_index = index.digit < kSortDigits;
    u32 to = 0;
    if (has_index) to = counts[warp][index.digit] + peers.before;
    ptx::sync_warp();
    if (has_index && peers.before == 0) counts[warp][index.digit] += peers.all;
    ptx::sync_warp();
    if (has_index) ptx::store_unit<4>(args.to + static_cast<u64>(to) * 4, index.number);
  }
}

__device__ __forceinline__ void scatter_count(const OrderArgs& args) {
  __shared__ WarpCounts counts;
  for (u32 block = blockIdx.x; block < args.blocks; block += gridDim.x) {
    count_block(args, block, counts);
    ptx::sync_block();
  }
}

__device__ __forceinline__ void scatter_place(const OrderArgs& args) {
  __shared__ WarpCounts counts;
  for (u32 block = blockIdx.x; block < args.blocks; block += gridDim.x) {
    place_block(args, block, counts);
    ptx::sync_block();
  }
}

}  // namespace tw
