// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a tile are added up if the CTAs that multiply them form a cluster: through
// shared memory, which takes half of the time of the workspace (stream_meet.cuh). Each CTA adds up
// and writes some of the tile's columns. All CTAs send it their accumulators of those columns. They
// are added in the order of k.

#include "kernels/gemm/wgmma/stream_meet.cuh"

namespace tw {

// The columns of a tile that one CTA of the cluster adds up and writes.
struct StreamSlice {
  i32 first, columns;  // from the tile's first column on; columns <= 0: none
};

// Whether CTAs share units as clusters. Kernels for integers lack the registers (gemm_shares.cpp),
// and those that share loads have clusters of another kind.
template <class Config>
__device__ __forceinline__ bool stream_joins(const GemmStreamArgs& args) {
  return !Config::kExact && Config::kCluster == 1 && args.joined > 0;
}

// The steps of a kernel that may join. One thread initializes the barrier. All threads of the
// cluster arrive. The producer warps wait at their end, the consumers in stream_join().
template <class Config>
__device__ __forceinline__ void stream_join_begin(const GemmStreamArgs& args,
                                                  const GemmPipeline<Config>& ring) {
  if (stream_joins<Config>(args)) ptx::mbarrier_init(ring.tile(0), 1);
}
template <class Config>
__device__ __forceinline__ void stream_join_arrive(const GemmStreamArgs& args) {
  if (stream_joins<Config>(args)) ptx::cluster_arrive_relaxed();
}
template <class Config>
__device__ __forceinline__ void stream_join_wait(const GemmStreamArgs& args) {
  if (stream_joins<Config>(args)) ptx::cluster_wait();
}

// The slice of this CTA: the whole tile if units are not joined.
template <class Config>
__device__ __forceinline__ StreamSlice stream_slice(const GemmStreamArgs& args) {
  if (!stream_joins<Config>(args)) return {0, args.width};
  const i32 columns = gemm_joined_columns(args.width, args.joined);
  const i32 first = static_cast<i32>(ptx::cluster_rank()) * columns;
  return {first, min(columns, args.width - first)};
}

template <class Config>
struct StreamJoin {
  using Sum = typename Config::Sum;
  static constexpr u32 kStep = StreamParty<Config>::kThreads * 16;  // bytes of eight columns
  const GemmStreamArgs& args;
  u32 room;     // shared address of the received accumulators
  u32 barrier;  // counts their bytes
  u32 groups;   // of eight columns, of each CTA

  __device__ __forceinline__ StreamJoin(const GemmStreamArgs& of, const GemmPipeline<Config>& ring)
      : args(of),
        room(ring.base + of.partials + StreamParty<Config>::thread() * 16),
        barrier(ring.tile(0)),
        groups(static_cast<u32>(gemm_joined_columns(of.width, of.joined)) / 8) {}

  __device__ __forceinline__ u32 place(u32 part, u32 group) const {
    return room + (part * groups + group) * kStep;
  }

  // Sends the accumulators to the CTAs that add them up, this one included.
  __device__ __forceinline__ void send(const Sum (&d)[Config::kAccumulators]) const {
    const u32 begin = place(ptx::cluster_rank(), 0), end = begin + groups * kStep;
    u32 owner = 0, at = begin;
#pragma unroll
    for (int group = 0; group < Config::kTileN / 8; ++group) {
      if (group * 8 >= args.width) break;
      const Sum* const from = &d[group * 4];
      const float sums[4] = {stream_left(from[0]), stream_left(from[1]), stream_left(from[2]),
                             stream_left(from[3])};
      ptx::store_async_v4(ptx::cluster_address(at, owner), sums,
                          ptx::cluster_address(barrier, owner));
      at += kStep;
      if (at == end) at = begin, ++owner;
    }
  }

  // Sets the first columns of d to the sums of all parts.
  __device__ __forceinline__ void add(Sum (&d)[Config::kAccumulators], i32 columns) const {
#pragma unroll
    for (int group = 0; group < Config::kTileN / 8; ++group) {
      Sum sum[4] = {};
      if (group * 8 < columns) {
#pragma unroll 1
        for (i32 part = 0; part < args.joined; ++part) {
          float v[4];
          ptx::load_shared_v4(place(static_cast<u32>(part), static_cast<u32>(group)), v);
#pragma unroll
          for (int i = 0; i < 4; ++i) stream_add(sum[i], v[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) d[group * 4 + i] = sum[i];
    }
  }
};

// Adds up the cluster's parts of a tile: d becomes the sums of this CTA's slice, from the first
// register on. Returns whether the slice has columns. Called by all consumer threads.
template <class Config>
__device__ __forceinline__ bool stream_join(typename Config::Sum (&d)[Config::kAccumulators],
                                            const GemmStreamArgs& args,
                                            const GemmPipeline<Config>& ring) {
  const StreamJoin<Config> join(args, ring);
  const i32 columns = stream_slice<Config>(args).columns;
  if (StreamParty<Config>::thread() == 0 && columns > 0)
    ptx::mbarrier_arrive_expect(
        join.barrier, static_cast<u32>(columns / 8 * args.joined) * StreamJoin<Config>::kStep);
  // Before this, a CTA of the cluster may not have initialized its barrier.
  ptx::cluster_wait();
  join.send(d);
  if (columns <= 0) return false;
  ptx::mbarrier_wait(join.barrier, 0);
  join.add(d, columns);
  return true;
}

}  // namespace tw
