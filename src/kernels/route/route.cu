// SPDX-License-Identifier: Apache-2.0
// Kernels for the steps of routing. Each may start before its predecessor grid has ended, and waits
// for that grid before it accesses global memory.
#include "kernels/common/emit.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/route/route_order.cuh"
#include "kernels/route/route_token.cuh"

namespace tw {

/// Orders the pairs of all tokens. The bins of the pairs lie in the shared memory of this block.
__device__ __forceinline__ void order_small(const RouteArgs& args, u32* shared) {
  __shared__ u32 warp_sums[kRouteScoreWarps];
  const u32 pairs = args.tokens * args.top_k;
  const u32 bin_count = route_bin_count(args);
  const RouteBlockPairs block_pairs = route_block_pairs(0, pairs, kRouteScoreWarps);
  const auto* const pair_bins = reinterpret_cast<const unsigned short*>(shared);
  u32* const counts = shared + route_small_bin_words(pairs);
  const auto bin_of = [&](u32 at) -> u32 { return pair_bins[at]; };
  count_bins(block_pairs, bin_count, counts, bin_of);
  const auto total_of = [&](u32 bin) {
    u32 total = 0;
    for (u32 warp = 0; warp < block_pairs.warps; ++warp) total += counts[warp * bin_count + bin];
    return total;
  };
  compute_places(args, block_pairs, counts, warp_sums, true, total_of, [](u32) { return 0u; });
  store_places(args, block_pairs, counts, bin_of);
}

/// Does all steps in one cluster. The warps of all blocks score tokens and write the pairs' bins to
/// the shared memory of block 0, which then orders the pairs.
__device__ __forceinline__ void route_small(const RouteArgs& args) {
  extern __shared__ __align__(16) u32 small_shared[];
  ptx::cluster_arrive_relaxed();  // all blocks have started, so their shared memory exists
  ptx::grid_dependency_wait_and_launch();
  ptx::cluster_wait();
  const u32 rank = ptx::cluster_rank();
  const u32 bins_at = ptx::cluster_address(ptx::shared_address(small_shared), 0);
  const bool orders = route_has(args, kRouteOrders);
  const u32 lane = ptx::lane_id();
  u32 invalid = 0;
  for (u32 token = rank * kRouteScoreWarps + threadIdx.x / 32; token < args.tokens;
       token += gridDim.x * kRouteScoreWarps) {
    const RouteBin bin = route_token<true>(args, token);
    invalid += bin.invalid ? 1 : 0;
    if (orders && lane < args.top_k)
      ptx::store_cluster_u16(bins_at + (token * args.top_k + lane) * 2, bin.bin);
  }
  route_count_invalid(args, invalid);
  if (!orders) return;  // no block accesses another's shared memory, so blocks may exit now
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (rank == 0) order_small(args, small_shared);
}

template <bool kMany>
__device__ __forceinline__ void score_chunk(const RouteArgs& args, u32 chunk, u32* counts,
                                            u32* invalid) {
  const u32 bin_count = route_bin_count(args);
  const bool orders = route_has(args, kRouteOrders);
  if (orders) {
    for (u32 bin = threadIdx.x; bin < bin_count; bin += kRouteScoreThreads) counts[bin] = 0;
    ptx::sync_block();
  }
  const u32 lane = ptx::lane_id();
  const u32 first = chunk * args.chunk_tokens;
  const u32 end = min(first + args.chunk_tokens, args.tokens);
  for (u32 token = first + threadIdx.x / 32; token < end; token += kRouteScoreWarps) {
    const RouteBin bin = route_token<kMany>(args, token);
    *invalid += bin.invalid ? 1 : 0;
    if (!orders || lane >= args.top_k) continue;
    const u64 pair = static_cast<u64>(token) * args.top_k + lane;
    ptx::store_unit<2>(args.pair_bins + pair * 2, static_cast<unsigned short>(bin.bin));
    atomicAdd(counts + bin.bin, 1u);
  }
  if (!orders) return;
  ptx::sync_block();
  for (u32 bin = threadIdx.x; bin < bin_count; bin += kRouteScoreThreads)
    ptx::store_unit<4>(args.chunk_counts + (static_cast<u64>(bin) * args.chunks + chunk) * 4,
                       counts[bin]);
  ptx::sync_block();
}

template <bool kMany>
__device__ __forceinline__ void route_score(const RouteArgs& args) {
  __shared__ u32 counts[kRouteMaxBins];
  ptx::grid_dependency_wait_and_launch();
  u32 invalid = 0;
  for (u32 chunk = blockIdx.x; chunk < args.chunks; chunk += gridDim.x)
    score_chunk<kMany>(args, chunk, counts, &invalid);
  route_count_invalid(args, invalid);
}

/// One warp replaces a bin's count of each chunk by the sum over earlier chunks. Each lane keeps
/// kScanItems loads in flight.
__device__ __forceinline__ void scan_bin(const RouteArgs& args, u32 bin) {
  constexpr u32 kScanItems = 8;
  const u32 lane = ptx::lane_id();
  const u64 row = args.chunk_counts + static_cast<u64>(bin) * args.chunks * 4;
  u32 before = 0;
  for (u32 base = 0; base < args.chunks; base += 32 * kScanItems) {
    u32 own[kScanItems];
#pragma unroll
    for (u32 k = 0; k < kScanItems; ++k) {
      const u32 chunk = base + k * 32 + lane;
      own[k] = ptx::load_word_after_wait(chunk < args.chunks, row + chunk * 4ull, 0);
    }
#pragma unroll
    for (u32 k = 0; k < kScanItems; ++k) {
      const u32 chunk = base + k * 32 + lane;
      u32 sum = own[k];
#pragma unroll
      for (u32 step = 1; step < 32; step *= 2) {
        const u32 lower = __shfl_up_sync(kAllLanes, sum, step);
        if (lane >= step) sum += lower;
      }
      if (chunk < args.chunks) ptx::store_unit<4>(row + chunk * 4ull, before + sum - own[k]);
      before += __shfl_sync(kAllLanes, sum, 31);
    }
  }
  if (lane == 0) ptx::store_unit<4>(args.bin_totals + bin * 4ull, before);
}

__device__ __forceinline__ void route_scan(const RouteArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  const u32 bin_count = route_bin_count(args);
  for (u32 bin = blockIdx.x * kRouteWarps + threadIdx.x / 32; bin < bin_count;
       bin += gridDim.x * kRouteWarps)
    scan_bin(args, bin);
}

__device__ __forceinline__ void place_chunk(const RouteArgs& args, u32 chunk, u32* counts,
                                            u32* warp_sums) {
  const u32 first = chunk * args.chunk_tokens;
  const u32 end = min(first + args.chunk_tokens, args.tokens);
  const RouteBlockPairs block_pairs =
      route_block_pairs(first * args.top_k, (end - first) * args.top_k, kRouteWarps);
  const auto* const pair_bins =
      reinterpret_cast<const unsigned short*>(args.pair_bins) + block_pairs.first;
  const auto bin_of = [&](u32 at) -> u32 { return pair_bins[at]; };
  count_bins(block_pairs, route_bin_count(args), counts, bin_of);
  compute_places(
      args, block_pairs, counts, warp_sums, chunk == 0,
      [&](u32 bin) { return ptx::load_after_wait<4>(args.bin_totals + bin * 4ull); },
      [&](u32 bin) {
        return ptx::load_after_wait<4>(args.chunk_counts +
                                       (static_cast<u64>(bin) * args.chunks + chunk) * 4);
      });
  store_places(args, block_pairs, counts, bin_of);
  ptx::sync_block();
}

__device__ __forceinline__ void route_place(const RouteArgs& args) {
  __shared__ u32 counts[kRouteWarps * kRouteMaxBins];
  __shared__ u32 warp_sums[kRouteWarps];
  ptx::grid_dependency_wait_and_launch();
  for (u32 chunk = blockIdx.x; chunk < args.chunks; chunk += gridDim.x)
    place_chunk(args, chunk, counts, warp_sums);
}

}  // namespace tw

#define TW_ROUTE_SMALL(feature, part, symbol)                                 \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kRouteScoreThreads, 1) \
          symbol(const __grid_constant__ tw::RouteArgs args) { tw::route_small(args); })
#define TW_ROUTE_SCORE(feature, part, symbol)                                 \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kRouteScoreThreads, 2) \
          symbol(const __grid_constant__ tw::RouteArgs args) { tw::route_score<false>(args); })
#define TW_ROUTE_MANY(feature, part, symbol)                                  \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(tw::kRouteScoreThreads, 1) \
          symbol(const __grid_constant__ tw::RouteArgs args) { tw::route_score<true>(args); })
#define TW_ROUTE_SCAN(feature, part, symbol)                             \
  TW_EMIT(                                                               \
      feature, part,                                                     \
      extern "C" __global__ void __launch_bounds__(tw::kRouteThreads, 2) \
          symbol(const __grid_constant__ tw::RouteArgs args) { tw::route_scan(args); })
#define TW_ROUTE_PLACE(feature, part, symbol)                            \
  TW_EMIT(                                                               \
      feature, part,                                                     \
      extern "C" __global__ void __launch_bounds__(tw::kRouteThreads, 4) \
          symbol(const __grid_constant__ tw::RouteArgs args) { tw::route_place(args); })
#include "kernels/route/kernels.inc"
