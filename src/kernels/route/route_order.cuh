// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block orders pairs stably by bin. Each warp counts the bins of its share of consecutive
// pairs, the counts become the place of the warp's first pair in each bin, and the warps write
// their pairs there.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/route/route.h"

namespace tw {

inline constexpr u32 kNoBin = 0xffffffffu;

/// The pairs of a block, and their division among its warps.
struct RouteShares {
  u32 first;  // first pair
  u32 pairs;
  u32 each;   // pairs per warp
  u32 warps;  // warps with at least one pair
};
__device__ __forceinline__ RouteShares route_shares(u32 first, u32 pairs, u32 warps) {
  const u32 each = (pairs + warps * 32 - 1) / (warps * 32) * 32;
  return {first, pairs, each, each == 0 ? 0 : (pairs + each - 1) / each};
}

/// Number of lower lanes with the same bin, and of all lanes with it.
struct BinPeers {
  u32 before;
  u32 all;
};
__device__ __forceinline__ BinPeers bin_peers(u32 bin) {
  const u32 peers = __match_any_sync(0xffffffffu, bin);
  return {static_cast<u32>(__popc(peers & ptx::lanes_below())), static_cast<u32>(__popc(peers))};
}

/// Calls `step(pair, bin)` for each of the warp's pairs in order, with all lanes converged. `bin`
/// is kNoBin if a lane has no pair.
template <class BinOf, class Step>
__device__ __forceinline__ void each_pair(const RouteShares& shares, BinOf bin_of, Step step) {
  const u32 begin = threadIdx.x / 32 * shares.each;
  const u32 end = min(begin + shares.each, shares.pairs);
  for (u32 base = begin; base < end; base += 32) {
    const u32 at = base + ptx::lane_id();
    step(shares.first + at, at < end ? bin_of(at) : kNoBin);
  }
}

template <class BinOf>
__device__ __forceinline__ void count_bins(const RouteShares& shares, u32 bins, u32* counts,
                                           BinOf bin_of) {
  for (u32 i = threadIdx.x; i < shares.warps * bins; i += blockDim.x) counts[i] = 0;
  ptx::sync_block();
  u32* const own = counts + threadIdx.x / 32 * bins;
  each_pair(shares, bin_of, [&](u32, u32 bin) {
    const BinPeers peers = bin_peers(bin);
    if (bin != kNoBin && peers.before == 0) own[bin] += peers.all;
    ptx::sync_warp();
  });
  ptx::sync_block();
}

/// Returns `*before` plus the sum of `value` over all lower threads of the block, and adds the sum
/// over the whole block to `*before`. `of_warp` holds one word per warp.
__device__ __forceinline__ u32 block_prefix(u32 value, u32* of_warp, u32* before) {
  const u32 lane = ptx::lane_id();
  u32 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 lower = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += lower;
  }
  ptx::sync_block();  // of_warp of the previous call has been read
  if (lane == 31) of_warp[threadIdx.x / 32] = sum;
  ptx::sync_block();
  const u32 warps = blockDim.x / 32;
  u32 own = lane < warps ? of_warp[lane] : 0;
  const u32 lower = __reduce_add_sync(0xffffffffu, lane < threadIdx.x / 32 ? own : 0);
  const u32 first = *before + lower + sum - value;
  *before += __reduce_add_sync(0xffffffffu, own);
  return first;
}

__device__ __forceinline__ void store_offset(const RouteArgs& args, u32 bin, u32 first) {
  if (args.offset_bytes == 8)
    ptx::store_unit<8>(args.offsets + bin * 8ull, static_cast<u64>(first));
  else
    ptx::store_unit<4>(args.offsets + bin * 4ull, first);
}

/// Turns the counts of the warps into the places of their first pairs. `total_of(bin)` returns the
/// number of all pairs of a bin, `before_of(bin)` the number in earlier chunks. The block with
/// `writes` set stores the offsets and counts.
template <class TotalOf, class BeforeOf>
__device__ __forceinline__ void place_bins(const RouteArgs& args, const RouteShares& shares,
                                           u32* counts, u32* of_warp, bool writes, TotalOf total_of,
                                           BeforeOf before_of) {
  const u32 bins = route_bins(args);
  u32 before = 0;
  for (u32 base = 0; base < bins; base += blockDim.x) {
    const u32 bin = base + threadIdx.x;
    const bool real = bin < bins;
    const u32 total = real ? total_of(bin) : 0;
    const u32 first = block_prefix(total, of_warp, &before);
    if (!real) continue;
    u32 place = first + before_of(bin);
    for (u32 warp = 0; warp < shares.warps; ++warp) {
      const u32 own = counts[warp * bins + bin];
      counts[warp * bins + bin] = place;
      place += own;
    }
    if (!writes) continue;
    if (args.offsets != 0) store_offset(args, bin, first);
    if (args.counts != 0 && bin < args.local) ptx::store_unit<4>(args.counts + bin * 4ull, total);
  }
  ptx::sync_block();
}

/// Stores the place of a pair. Dropped pairs come last and are stored as -1.
__device__ __forceinline__ void store_place(const RouteArgs& args, u32 pair, u32 bin, u32 place) {
  const bool dropped = bin == args.local;
  if (args.order != 0) ptx::store_unit<4>(args.order + place * 4ull, dropped ? 0xffffffffu : pair);
  if (args.tokens_of != 0)
    ptx::store_unit<4>(args.tokens_of + place * 4ull, dropped ? 0xffffffffu : pair / args.top_k);
  if (args.inverse != 0)
    ptx::store_unit<4>(args.inverse + pair * 4ull, dropped ? 0xffffffffu : place);
}

template <class BinOf>
__device__ __forceinline__ void place_pairs(const RouteArgs& args, const RouteShares& shares,
                                            u32* counts, BinOf bin_of) {
  u32* const own = counts + threadIdx.x / 32 * route_bins(args);
  each_pair(shares, bin_of, [&](u32 pair, u32 bin) {
    const BinPeers peers = bin_peers(bin);
    const bool real = bin != kNoBin;
    const u32 place = real ? own[bin] + peers.before : 0;
    ptx::sync_warp();
    if (real && peers.before == 0) own[bin] += peers.all;
    ptx::sync_warp();
    if (real) store_place(args, pair, bin, place);
  });
}

}  // namespace tw
