// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block puts pairs in the stable order of their bins. Each warp counts the bins of its share,
// neighbouring pairs; the counts become the place of each warp's first pair of a bin; then the
// warps place their pairs.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/route/route.h"

namespace tw {

inline constexpr u32 kNoBin = 0xffffffffu;

/// The pairs of a block, and how its warps share them.
struct RouteShares {
  u32 first;  // pair
  u32 pairs;
  u32 each;   // of a warp
  u32 warps;  // that have any
};
__device__ __forceinline__ RouteShares route_shares(u32 first, u32 pairs, u32 warps) {
  const u32 each = (pairs + warps * 32 - 1) / (warps * 32) * 32;
  return {first, pairs, each, each == 0 ? 0 : (pairs + each - 1) / each};
}

/// Lanes with the same bin: how many are below this one, and how many in all.
struct BinPeers {
  u32 before;
  u32 all;
};
__device__ __forceinline__ BinPeers bin_peers(u32 bin) {
  const u32 peers = __match_any_sync(0xffffffffu, bin);
  return {static_cast<u32>(__popc(peers & ptx::lanes_below())), static_cast<u32>(__popc(peers))};
}

/// Calls `step(pair, bin)` with each of the warp's pairs in order, all lanes together; kNoBin
/// where a lane has none.
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

/// The sum of the values of all lower threads of the block, to which `before` is added; `before`
/// becomes the sum up to the block's end. `of_warp` has a word for each warp.
__device__ __forceinline__ u32 block_prefix(u32 value, u32* of_warp, u32* before) {
  const u32 lane = ptx::lane_id();
  u32 sum = value;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 lower = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += lower;
  }
  ptx::sync_block();  // the round before has read of_warp
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

/// Turns the warps' counts into the places of their first pairs. `total_of(bin)` is the number of
/// all pairs of a bin, `before_of(bin)` that of earlier chunks'. One block writes the totals.
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

/// Pairs that are dropped come last, where -1 stands for them.
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
