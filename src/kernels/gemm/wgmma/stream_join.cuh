// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds up the parts of a tile in shared memory. This requires that the CTAs that multiply the parts
// are joined, which means that they form a cluster (gemm_stream.h), and takes half of the time of
// the workspace (stream_meet.cuh). Each CTA adds up and writes a slice of the tile's columns. It
// receives the accumulators of its slice from all CTAs and adds them in the order of k.

#include "kernels/gemm/wgmma/stream_meet.cuh"

namespace tw {

// Whether the CTAs are joined. Kernels for integers lack the registers
// (GemmChoice::shares_last_addition()). Kernels without swap-AB are for products of many tiles,
// which need not be joined. A launch with multicast has clusters for another purpose, so that
// args.joined is 0. join_ctas() in gemm_shares.cpp excludes the same cases.
template <class Config>
__device__ __forceinline__ bool stream_is_joined(const GemmStreamArgs& args) {
  return !Config::kIntegerSums && !kStreamAlwaysSharesLoads<Config> && Config::kSwapAB &&
         args.joined > 0;
}

// A kernel whose CTAs may be joined calls these three functions. One thread of each CTA initializes
// the barrier. All threads of the cluster arrive and wait once, so that no CTA sends to a barrier
// that is not initialized. The warps of the producer's warpgroup wait at the end of their code, and
// the consumers wait in stream_reduce_in_cluster().
template <class Config>
__device__ __forceinline__ void stream_init_cluster_reduction(
    const GemmStreamArgs& args, const GemmPipeline<Config>& pipeline) {
  if (stream_is_joined<Config>(args)) ptx::mbarrier_init(pipeline.reduction_word(), 1);
}
template <class Config>
__device__ __forceinline__ void stream_arrive_if_joined(const GemmStreamArgs& args) {
  if (stream_is_joined<Config>(args)) ptx::cluster_arrive_relaxed();
}
template <class Config>
__device__ __forceinline__ void stream_wait_if_joined(const GemmStreamArgs& args) {
  if (stream_is_joined<Config>(args)) ptx::cluster_wait();
}

// The memory in which a joined CTA receives accumulators: for each part, the groups of eight
// columns of the CTA's slice.
template <class Config>
struct StreamClusterReduction {
  using Sum = typename Config::Sum;
  static constexpr u32 kGroupBytes = StreamConsumers<Config>::kThreads * 16;
  const GemmStreamArgs& args;
  u32 received;  // shared address of this thread's received accumulators
  u32 barrier;   // counts the received bytes
  u32 groups;    // groups of eight columns in each CTA's slice

  __device__ __forceinline__ StreamClusterReduction(const GemmStreamArgs& arguments,
                                                    const GemmPipeline<Config>& pipeline)
      : args(arguments),
        received(pipeline.base + arguments.partials_offset +
                 StreamConsumers<Config>::thread() * 16),
        barrier(pipeline.reduction_word()),
        groups(static_cast<u32>(gemm_slice_columns(arguments.width, arguments.joined)) / 8) {}

  // Shared address of this thread's accumulators of a part and a group of the slice.
  __device__ __forceinline__ u32 address(u32 part, u32 group) const {
    return received + (part * groups + group) * kGroupBytes;
  }

  // Sends the accumulators of all columns to the CTAs that add them up, this one included. Each of
  // these receives them at the same address in its own shared memory.
  __device__ __forceinline__ void send(const Sum (&d)[Config::kAccumulators]) const {
    const u32 begin = address(ptx::cluster_rank(), 0), end = begin + groups * kGroupBytes;
    u32 owner = 0, at = begin;
#pragma unroll
    for (int group = 0; group < Config::kTileN / 8; ++group) {
      if (group * 8 >= args.width) break;
      const Sum* const sums = &d[group * 4];
      const float sent[4] = {stream_as_float(sums[0]), stream_as_float(sums[1]),
                             stream_as_float(sums[2]), stream_as_float(sums[3])};
      ptx::store_async_v4(ptx::cluster_address(at, owner), sent,
                          ptx::cluster_address(barrier, owner));
      at += kGroupBytes;
      if (at == end) at = begin, ++owner;
    }
  }

  // Adds up all parts of the slice, which has `columns` columns. The first columns of d become the
  // sums, the others 0.
  __device__ __forceinline__ void add(Sum (&d)[Config::kAccumulators], i32 columns) const {
#pragma unroll
    for (int group = 0; group < Config::kTileN / 8; ++group) {
      Sum sum[4] = {};
      if (group * 8 < columns) {
#pragma unroll 1
        for (i32 part = 0; part < args.joined; ++part) {
          float v[4];
          ptx::load_shared_v4(address(static_cast<u32>(part), static_cast<u32>(group)), v);
#pragma unroll
          for (int i = 0; i < 4; ++i) stream_add(sum[i], v[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) d[group * 4 + i] = sum[i];
    }
  }
};

// The slice of this CTA, if it is joined.
__device__ __forceinline__ StreamSlice stream_joined_slice(const GemmStreamArgs& args) {
  return StreamSlice::of(args.width, static_cast<i32>(ptx::cluster_rank()), args.joined);
}

// Adds up the cluster's parts of a tile. The first columns of d become the sums of this CTA's
// slice. Returns whether the slice has columns. Called by all consumer threads.
template <class Config>
__device__ __forceinline__ bool stream_reduce_in_cluster(
    typename Config::Sum (&d)[Config::kAccumulators], const GemmStreamArgs& args,
    const GemmPipeline<Config>& pipeline) {
  const StreamClusterReduction<Config> join(args, pipeline);
  const StreamSlice slice = stream_joined_slice(args);
  if (StreamConsumers<Config>::thread() == 0 && slice.columns > 0)
    ptx::mbarrier_arrive_expect(join.barrier, static_cast<u32>(slice.columns / 8 * args.joined) *
                                                  StreamClusterReduction<Config>::kGroupBytes);
  // After this wait, every CTA of the cluster has initialized its barrier.
  ptx::cluster_wait();
  join.send(d);
  if (slice.columns <= 0) return false;
  ptx::mbarrier_wait(join.barrier, 0);
  join.add(d, slice.columns);
  return true;
}

}  // namespace tw
