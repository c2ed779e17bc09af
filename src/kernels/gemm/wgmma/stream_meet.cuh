// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a tile that several workers (gemm_stream.h) multiplied are added up in the run's
// workspace. stream_join.cuh adds them up in a cluster's shared memory instead.
//
// A CTA that multiplied a part of a tile's k stores its accumulators in the workspace. When all
// parts are there, the CTAs share the rest of the work by slices of the tile's columns
// (stream_slices.cuh): a CTA adds up all parts of a slice in the order of k, so that equal inputs
// give equal bits, and writes the slice to D.
// "full" in names means an epilogue kernel.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/stream_slices.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/global_own.cuh"

namespace tw {

// Columns for which each slot in the workspace has memory.
template <class Args>
__device__ __forceinline__ i32 stream_slot_columns(const Args& args) {
  return args.width;
}

// Calls use() with StreamIndex<0> to StreamIndex<kCount - 1>, for indices that must be constants.
template <int kIndex>
struct StreamIndex {
  static constexpr int kValue = kIndex;
};
template <int kCount, int kIndex = 0, class Use>
__device__ __forceinline__ void stream_for_constants(Use use) {
  if constexpr (kIndex < kCount) {
    use(StreamIndex<kIndex>{});
    stream_for_constants<kCount, kIndex + 1>(use);
  }
}

// The workspace holds accumulators as floats, which have the bits of an i32 accumulator unchanged.
// These functions convert to such a float, and add one to an accumulator.
__device__ __forceinline__ float stream_as_float(float sum) {
  return sum;
}
__device__ __forceinline__ float stream_as_float(i32 sum) {
  return __int_as_float(sum);
}
__device__ __forceinline__ void stream_add(float& sum, float stored) {
  sum += stored;
}
__device__ __forceinline__ void stream_add(i32& sum, float stored) {
  sum += __float_as_int(stored);
}
template <class Sum>
inline constexpr float kStreamZero = -0.0f;  // adding it changes no sum
template <>
inline constexpr float kStreamZero<i32> = 0.0f;

// A thread's share of the accumulators in a slot of the workspace, in groups of eight columns.
template <class Config>
struct StreamPartial {
  using Sum = typename Config::Sum;
  static constexpr u32 kThreads = StreamConsumers<Config>::kThreads;
  static constexpr int kGroups = Config::kTileN / 8;
  // Groups that are loaded at once: as many as registers allow, since a load takes about a
  // microsecond.
  static constexpr int kAtOnce = Config::kFull ? 4 : 8;
  u64 first;
  i32 width;

  // The address of a worker's slot, 0 or 1.
  template <class Args>
  static __device__ __forceinline__ u64 slot_at(const Args& args, i32 worker, i32 slot, u32 rank) {
    const u32 tile = static_cast<u32>(worker * 2 + slot) * Config::kCluster + rank;
    return args.workspace + args.partials_offset +
           u64{tile} *
               gemm_stream_tile_bytes(Config::kTileM, static_cast<u32>(stream_slot_columns(args)));
  }
  template <class Args>
  __device__ __forceinline__ StreamPartial(const Args& args, i32 worker, i32 slot, u32 rank)
      : first(slot_at(args, worker, slot, rank) + StreamConsumers<Config>::thread() * 16),
        width(args.width) {}
  __device__ __forceinline__ u64 at(int group) const {
    return first + static_cast<u32>(group) * (kThreads * 16);
  }
  __device__ __forceinline__ void put(const Sum (&d)[Config::kAccumulators]) const {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group * 8 >= width) break;
      const Sum* const from = &d[group * 4];
      ptx::store_v4(at(group), stream_as_float(from[0]), stream_as_float(from[1]),
                    stream_as_float(from[2]), stream_as_float(from[3]));
    }
  }
  __device__ __forceinline__ void add_to(Sum (&d)[Config::kAccumulators]) const {
    static_assert(kGroups % kAtOnce == 0, "kAtOnce groups at a time would exceed the accumulators");
#pragma unroll
    for (int from = 0; from < kGroups; from += kAtOnce) {
      if (from * 8 >= width) break;
      float v[kAtOnce][4];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if ((from + i) * 8 < width) ptx::load_l2_v4(at(from + i), v[i]);
#pragma unroll
      for (int i = 0; i < kAtOnce * 4; ++i) stream_add(d[from * 4 + i], v[i / 4][i % 4]);
    }
  }
};

// Sets the first columns of d to the sums of a slice of a unit, of which all parts are added up in
// order. A load takes about a microsecond, so four groups of columns of kParts parts are loaded at
// once. The first groups can load more parts at once, because the accumulators of later groups,
// which are written last, need no registers yet.
template <class Config, class Args>
__device__ __forceinline__ void stream_add_parts(typename Config::Sum (&d)[Config::kAccumulators],
                                                 const Args& args, i32 unit, StreamSlice slice,
                                                 u32 rank) {
  using Sum = typename Config::Sum;
  using Partial = StreamPartial<Config>;
  constexpr int kColumns = 4;
  static_assert(Partial::kGroups % kColumns == 0, "the groups must be a multiple of kColumns");
  const GemmParts parts = gemm_stream_parts(unit, args.depth, args.share);
  // From a slot's start to the thread's first accumulators of the slice.
  const u32 own = static_cast<u32>(slice.first / 8) * (Partial::kThreads * 16) +
                  StreamConsumers<Config>::thread() * 16;
  stream_for_constants<Partial::kGroups / kColumns>([&](auto chunk) {
    constexpr int kFrom = decltype(chunk)::kValue * kColumns;
    constexpr int kParts = kFrom == 0 ? 8 : kFrom == kColumns ? 4 : 2;
    Sum sum[kColumns * 4] = {};
    if (kFrom * 8 < slice.columns) {
#pragma unroll 1
      for (i32 first = parts.first; first <= parts.last; first += kParts) {
        float v[kParts][kColumns][4];
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          // Beyond the last part, the last part is loaded again, so that no load waits for a
          // branch.
          const i32 part = min(first + i, parts.last);
          const i32 slot = gemm_stream_slot(unit, args.depth, args.share, part);
          const u64 from = Partial::slot_at(args, part, slot, rank) + own;
          stream_for_constants<kColumns>([&](auto column) {
            constexpr int kColumn = decltype(column)::kValue;
            // Slices are multiples of 16 columns, two groups.
            if (kColumn < 2 || (kFrom + 2) * 8 < slice.columns)
              ptx::load_l2_v4<(kFrom + kColumn) * Partial::kThreads * 16>(from, v[i][kColumn]);
            else
              v[i][kColumn][0] = v[i][kColumn][1] = v[i][kColumn][2] = v[i][kColumn][3] = 0;
          });
        }
#pragma unroll
        for (int i = 0; i < kParts; ++i)
#pragma unroll
          for (int j = 0; j < kColumns * 4; ++j)
            stream_add(sum[j], first + i <= parts.last ? v[i][j / 4][j % 4] : kStreamZero<Sum>);
      }
    }
#pragma unroll
    for (int j = 0; j < kColumns * 4; ++j) d[kFrom * 4 + j] = sum[j];
  });
}

// Multiplies the k blocks from `begin` to `end` of an item, and waits for the products.
template <class Config, class Args>
__device__ __forceinline__ void stream_multiply(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], const Args& args,
    i32 begin, i32 end, u32 accumulate, GemmPipeline<Config>& pipeline, u32 group) {
  gemm_multiply<Config>(
      d, {begin * Config::kTileK, end * Config::kTileK}, pipeline, group, accumulate, nullptr,
      [] {}, args.width_index);
  gemm_wait_products<Config>(d);
  gemm_release<Config>(pipeline, (pipeline.stage == 0 ? pipeline.stages() : pipeline.stage) - 1);
}

// Multiplies an item in chains of at most args.chain_blocks k blocks. They are added up in
// registers if a thread has these, else in the CTA's slot of the workspace (`partial`).
template <class Config, class Args>
__device__ __forceinline__ void stream_accumulate(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], const Args& args,
    const StreamItem& item, const StreamPartial<Config>& partial, GemmPipeline<Config>& pipeline,
    u32 group) {
  if constexpr (Config::kStreamParksChains) {
    if (item.end <= item.begin) return gemm_clear_accumulators<Config>(d);
    u32 parked[Config::kRowBlocks][Config::kAccumulators / 2];
    const i32 chains = (item.end - item.begin + args.chain_blocks - 1) / args.chain_blocks;
    gemm_define_accumulators<Config>(d);
    i32 begin = item.begin;
#pragma unroll 1
    for (i32 chain = 0; chain < chains; ++chain) {
      const i32 end = min(begin + args.chain_blocks, item.end);
      stream_multiply<Config>(d, args, begin, end, chain > 0 ? 1 : 0, pipeline, group);
      if (chains > 1) gemm_park<Config>(d, parked, chain, chains);
      begin = end;
    }
  } else {
    if (item.end <= item.begin) gemm_clear_accumulators<Config>(d);
#pragma unroll 1
    for (i32 begin = item.begin; begin < item.end; begin += args.chain_blocks) {
      const i32 end = min(begin + args.chain_blocks, item.end);
      gemm_define_accumulators<Config>(d);
      stream_multiply<Config>(d, args, begin, end, 0, pipeline, group);
      if (begin > item.begin) partial.add_to(d[0]);
      if (end < item.end) partial.put(d[0]);
    }
  }
}

}  // namespace tw
