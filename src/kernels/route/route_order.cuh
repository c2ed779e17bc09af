// SPDX-License-Identifier: Apache-2.0
#pragma once
// Orders the pairs of one block by bin (route.h); pairs of the same bin keep their order. Each warp
// has a share of consecutive pairs. First, count_bins() counts the pairs of each bin in each share.
// Then compute_places() replaces each count by a place: that of the share's first pair of the bin.
// Finally, store_places() stores the share's pairs of the bin at this place and those after it.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/route/route.h"

namespace tw {

inline constexpr u32 kNoBin = 0xffffffffu;

/// The pairs of a block, and how they are divided among its warps.
struct RouteBlockPairs {
  u32 first;  // the block's first pair
  u32 count;
  u32 per_warp;  // pairs in a warp's share, a multiple of 32
  u32 warps;     // warps with at least one pair
};
__device__ __forceinline__ RouteBlockPairs route_block_pairs(u32 first, u32 count, u32 warps) {
  const u32 per_warp = (count + warps * 32 - 1) / (warps * 32) * 32;
  return {first, count, per_warp, per_warp == 0 ? 0 : (count + per_warp - 1) / per_warp};
}

/// How many lanes of the warp have the same bin as this lane.
struct BinPeers {
  u32 lower;  // of the lanes below this one
  u32 all;    // of all lanes, including this one
};
__device__ __forceinline__ BinPeers bin_peers(u32 bin) {
  const u32 peers = __match_any_sync(0xffffffffu, bin);
  return {static_cast<u32>(__popc(peers & ptx::lanes_below())), static_cast<u32>(__popc(peers))};
}

/// Calls step(pair, bin) for the warp's pairs in order, 32 pairs at a time: one for each lane. All
/// lanes are converged. If no pair is left for a lane, its `bin` is kNoBin. bin_of(i) returns the
/// bin of pair number i of the block.
template <class BinOf, class Step>
__device__ __forceinline__ void each_pair(const RouteBlockPairs& block_pairs, BinOf bin_of,
                                          Step step) {
  const u32 begin = threadIdx.x / 32 * block_pairs.per_warp;
  const u32 end = min(begin + block_pairs.per_warp, block_pairs.count);
  for (u32 base = begin; base < end; base += 32) {
    const u32 index = base + ptx::lane_id();
    step(block_pairs.first + index, index < end ? bin_of(index) : kNoBin);
  }
}

/// Sets counts[warp * bin_count + bin] to the number of pairs of the bin in the warp's share.
template <class BinOf>
__device__ __forceinline__ void count_bins(const RouteBlockPairs& block_pairs, u32 bin_count,
                                           u32* counts, BinOf bin_of) {
  for (u32 i = threadIdx.x; i < block_pairs.warps * bin_count; i += blockDim.x) counts[i] = 0;
  ptx::sync_block();
  u32* const warp_counts = counts + threadIdx.x / 32 * bin_count;
  each_pair(block_pairs, bin_of, [&](u32, u32 bin) {
    const BinPeers peers = bin_peers(bin);
    if (bin != kNoBin && peers.lower == 0) warp_counts[bin] += peers.all;
    ptx::sync_warp();
  });
  ptx::sync_block();
}

/// Returns `*before` plus the sum of `value` over all lower threads of the block. Then adds the sum
/// over the whole block to `*before`. `warp_sums` is in shared memory and has a word for each warp.
__device__ __forceinline__ u32 block_prefix(u32 value, u32* warp_sums, u32* before) {
  const u32 lane = ptx::lane_id();
  u32 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 lower = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += lower;
  }
  ptx::sync_block();  // all threads have read the warp_sums of the previous call
  if (lane == 31) warp_sums[threadIdx.x / 32] = sum;
  ptx::sync_block();
  const u32 warps = blockDim.x / 32;
  const u32 warp_sum = lane < warps ? warp_sums[lane] : 0;
  const u32 lower_warps = __reduce_add_sync(0xffffffffu, lane < threadIdx.x / 32 ? warp_sum : 0);
  const u32 first = *before + lower_warps + sum - value;
  *before += __reduce_add_sync(0xffffffffu, warp_sum);
  return first;
}

/// Stores the place of a bin's first pair for the caller.
__device__ __forceinline__ void store_offset(const RouteArgs& args, u32 bin, u32 first) {
  if (args.offset_bytes == 8)
    ptx::store_unit<8>(args.offsets + bin * 8ull, static_cast<u64>(first));
  else
    ptx::store_unit<4>(args.offsets + bin * 4ull, first);
}

/// Replaces each count of count_bins() by a place in the order of all pairs: that of the first pair
/// that was counted. total_of(bin) returns the number of all pairs of a bin, and before_of(bin) the
/// number of its pairs in earlier chunks (route.h). If `writes` is set, the block also stores the
/// offsets and counts of the bins for the caller.
template <class TotalOf, class BeforeOf>
__device__ __forceinline__ void compute_places(const RouteArgs& args,
                                               const RouteBlockPairs& block_pairs, u32* counts,
                                               u32* warp_sums, bool writes, TotalOf total_of,
                                               BeforeOf before_of) {
  const u32 bin_count = route_bin_count(args);
  u32 before = 0;
  for (u32 base = 0; base < bin_count; base += blockDim.x) {
    const u32 bin = base + threadIdx.x;
    const bool is_valid = bin < bin_count;
    const u32 total = is_valid ? total_of(bin) : 0;
    const u32 first = block_prefix(total, warp_sums, &before);
    if (!is_valid) continue;
    u32 place = first + before_of(bin);
    for (u32 warp = 0; warp < block_pairs.warps; ++warp) {
      const u32 count = counts[warp * bin_count + bin];
      counts[warp * bin_count + bin] = place;
      place += count;
    }
    if (!writes) continue;
    if (args.offsets != 0) store_offset(args, bin, first);
    if (args.counts != 0 && bin < args.local_experts)
      ptx::store_unit<4>(args.counts + bin * 4ull, total);
  }
  ptx::sync_block();
}

/// Stores a pair in those of three arrays that the caller wants: the pair and its token at its
/// place of `order` and `order_tokens`, and the place in `inverse`. Dropped pairs have the last
/// places, and -1 is stored in all three arrays for them.
__device__ __forceinline__ void store_place(const RouteArgs& args, u32 pair, u32 bin, u32 place) {
  const bool dropped = bin == args.local_experts;
  if (args.order != 0) ptx::store_unit<4>(args.order + place * 4ull, dropped ? 0xffffffffu : pair);
  if (args.order_tokens != 0)
    ptx::store_unit<4>(args.order_tokens + place * 4ull, dropped ? 0xffffffffu : pair / args.top_k);
  if (args.inverse != 0)
    ptx::store_unit<4>(args.inverse + pair * 4ull, dropped ? 0xffffffffu : place);
}

/// Stores all pairs of the block. `counts` is the result of compute_places().
template <class BinOf>
__device__ __forceinline__ void store_places(const RouteArgs& args,
                                             const RouteBlockPairs& block_pairs, u32* counts,
                                             BinOf bin_of) {
  u32* const warp_counts = counts + threadIdx.x / 32 * route_bin_count(args);
  each_pair(block_pairs, bin_of, [&](u32 pair, u32 bin) {
    const BinPeers peers = bin_peers(bin);
    const bool is_valid = bin != kNoBin;
    const u32 place = is_valid ? warp_counts[bin] + peers.lower : 0;
    ptx::sync_warp();
    if (is_valid && peers.lower == 0) warp_counts[bin] += peers.all;
    ptx::sync_warp();
    if (is_valid) store_place(args, pair, bin, place);
  });
}

}  // namespace tw
