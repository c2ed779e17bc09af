// SPDX-License-Identifier: Apache-2.0
#pragma once
// The clusters of stream-K kernels, whose CTAs share their loads through multicast. The arguments
// give a cluster's shape, so that one kernel serves all shapes.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

// The logarithm of the number of CTAs in a worker.
template <class Config, class Args>
__device__ __forceinline__ u32 stream_cluster_log(const Args& args) {
  if constexpr (Config::kAnyCluster)
    return args.cluster_log;
  else
    return 0;
}

// Whether the code is only for launches in which the CTAs of a cluster share their loads
// (GemmAnyCluster).
template <class Config>
inline constexpr bool kStreamAlwaysSharesLoads = Config::kAnyCluster && !Config::kFull;

// Whether the CTAs of a cluster share their loads.
template <class Config, class Args>
__device__ __forceinline__ bool stream_shares_loads(const Args& args) {
  if constexpr (kStreamAlwaysSharesLoads<Config>)
    return true;
  else
    return stream_cluster_log<Config>(args) != 0;
}

// This CTA's rank in a cluster that shares its loads, otherwise 0.
template <class Config, class Args>
__device__ __forceinline__ u32 stream_rank(const Args& args) {
  return stream_shares_loads<Config>(args) ? ptx::cluster_rank() : 0;
}

// This CTA's worker.
template <class Config, class Args>
__device__ __forceinline__ i32 stream_worker(const Args& args) {
  return static_cast<i32>(ptx::reread_block_id() >> stream_cluster_log<Config>(args));
}

// A CTA's place in its cluster, and the masks of the CTAs that need the same rows of A, which lie
// along n, and of those that need the same columns of B, which lie along m.
struct StreamCluster {
  u32 log_m, log_n;    // logarithms of the number of CTAs along m and n
  u32 rank_m, rank_n;  // this CTA's position among them
  u32 mask_a, mask_b;

  __device__ __forceinline__ StreamCluster(const GemmStreamArgs& args, u32 rank)
      : log_m(args.cluster_log_m), log_n(args.cluster_log - args.cluster_log_m) {
    rank_m = rank & ((1u << log_m) - 1);
    rank_n = rank >> log_m;
    mask_a = u32{args.cluster_row_mask} << rank_m;
    mask_b = ((1u << (1u << log_m)) - 1) << (rank_n << log_m);
  }
  // Whether this CTA and the one of rank `other` load parts of A or B for each other. True for this
  // CTA itself.
  __device__ __forceinline__ bool shares_loads_with(u32 other) const {
    return ((mask_a | mask_b) >> other & 1) != 0;
  }
  // Number of CTAs for which shares_loads_with() is true.
  __device__ __forceinline__ u32 multicast_ctas() const {
    return (1u << log_m) + (1u << log_n) - 1;
  }
};

// What a kernel knows of a CTA's cluster: nothing without multicast.
template <bool kAnyCluster>
struct StreamPlaceOf {
  using Type = StreamCluster;
};
template <>
struct StreamPlaceOf<false> {
  struct Type {
    __device__ __forceinline__ Type(const GemmStreamArgs&, u32) {}
  };
};
template <class Config>
using StreamPlace = typename StreamPlaceOf<Config::kAnyCluster>::Type;

}  // namespace tw
