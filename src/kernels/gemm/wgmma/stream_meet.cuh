// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a tile that several workers (gemm_stream.h) multiplied are added up in the run's
// workspace. stream_join.cuh adds them up in a cluster's shared memory instead.
//
// A CTA that multiplied a part of a tile's k stores its accumulators in the workspace and
// increments the tile's counter. The last CTA to arrive adds up all parts in the order of k, so
// that equal inputs give equal bits, and writes D. No CTA waits for another one, which might not be
// resident. A finished counter is reset to its tag and a count of 0. A counter without the tag
// holds foreign bytes and counts as 0, so that nobody has to clear a workspace.
// "full" in names means an epilogue kernel.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"

namespace tw {

// The consumer threads of a CTA.
template <class Config>
struct StreamConsumers {
  static constexpr u32 kThreads = 128 * Config::kConsumers;
  static __device__ __forceinline__ u32 thread() { return threadIdx.x - 128; }
  static __device__ __forceinline__ void sync() { ptx::named_barrier(1, kThreads); }
};

// Counts a CTA that has stored its part. Returns whether it is the last of `parts`. If the counter
// has its tag, one atomic addition suffices, which takes one round trip to the L2 under any
// contention. Otherwise CTAs compare and swap until one of them has stored the tag.
__device__ __forceinline__ bool stream_arrive(u64 address, u64 tag, u32 parts) {
  const auto counted = [&](u64 seen) {
    return (seen & ~u64{255}) == tag ? static_cast<u32>(seen & 255) : 0;
  };
  u64 seen = ptx::add_acq_rel(address, 1);
  if ((seen & ~u64{255}) == tag) {
    const bool last = counted(seen) + 1 == parts;
    if (last) ptx::store_relaxed(address, tag);
    return last;
  }
  ++seen;
  for (;;) {
    const u32 arrived = counted(seen);
    const bool last = arrived + 1 == parts;
    const u64 found = ptx::compare_swap_acq_rel(address, seen, last ? tag : tag | (arrived + 1));
    if (found == seen) return last;
    seen = found;
  }
}

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

  // A worker has two slots: `slot` is 0 or 1.
  template <class Args>
  __device__ __forceinline__ StreamPartial(const Args& args, i32 worker, i32 slot, u32 rank)
      : width(args.width) {
    const u32 tile = static_cast<u32>(worker * 2 + slot) * Config::kCluster + rank;
    first = args.workspace + args.partials_offset +
            u64{tile} * gemm_stream_tile_bytes(Config::kTileM,
                                               static_cast<u32>(stream_slot_columns(args))) +
            StreamConsumers<Config>::thread() * 16;
  }
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

// Adds up a unit's parts in order. A load takes about a microsecond, so four groups of columns of
// kParts parts are loaded at once. The first groups can load more parts at once, because the
// accumulators of later groups, which are written last, need no registers yet.
template <class Config, class Args>
__device__ __forceinline__ void stream_add_parts(typename Config::Sum (&d)[Config::kAccumulators],
                                                 const Args& args, i32 unit, GemmParts parts,
                                                 u32 rank) {
  using Sum = typename Config::Sum;
  using Partial = StreamPartial<Config>;
  constexpr int kColumns = 4;
  static_assert(Partial::kGroups % kColumns == 0, "the groups must be a multiple of kColumns");
  stream_for_constants<Partial::kGroups / kColumns>([&](auto chunk) {
    constexpr int kFrom = decltype(chunk)::kValue * kColumns;
    constexpr int kParts = kFrom == 0 ? 8 : kFrom == kColumns ? 4 : 2;
    Sum sum[kColumns * 4] = {};
    if (kFrom * 8 < args.width) {
#pragma unroll 1
      for (i32 first = parts.first; first <= parts.last; first += kParts) {
        float v[kParts][kColumns][4];
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          // Beyond the last part, the last part is loaded again, so that no load waits for a
          // branch.
          const i32 part = min(first + i, parts.last);
          const i32 slot = gemm_stream_slot(unit, args.depth, args.share, part);
          const Partial partial(args, part, slot, rank);
          stream_for_constants<kColumns>([&](auto column) {
            constexpr int kColumn = decltype(column)::kValue;
            // Widths are multiples of 16 columns, two groups.
            if (kColumn < 2 || (kFrom + 2) * 8 < args.width)
              ptx::load_l2_v4<(kFrom + kColumn) * Partial::kThreads * 16>(partial.first,
                                                                          v[i][kColumn]);
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

// Stores a CTA's part of a tile in the workspace. In the last CTA to arrive, d becomes the sum of
// all parts. Returns whether this CTA is the last. Called by all consumer threads.
template <class Config, class Args>
__device__ __forceinline__ bool stream_reduce_in_workspace(
    typename Config::Sum (&d)[Config::kAccumulators], const Args& args, i32 unit,
    const StreamPartial<Config>& partial, u32 rank, u32 flag) {
  const GemmParts parts = gemm_stream_parts(unit, args.depth, args.share);
  partial.put(d);
  StreamConsumers<Config>::sync();
  if (StreamConsumers<Config>::thread() == 0) {
    // Releases what all threads stored, and acquires what other CTAs did.
    const u64 counter = args.workspace + (static_cast<u64>(unit) * Config::kCluster + rank) * 8;
    const bool last =
        stream_arrive(counter, args.counter_tag, static_cast<u32>(parts.last - parts.first + 1));
    ptx::shared_store<4>(flag, last ? 1u : 0u);
  }
  StreamConsumers<Config>::sync();
  if (ptx::shared_load<4>(flag) == 0) return false;
  stream_add_parts<Config>(d, args, unit, parts, rank);
  return true;
}

// Multiplies an item in chains of at most args.chain_blocks k blocks, which are added up in the
// CTA's slot of the workspace (`partial`).
template <class Config, class Args>
__device__ __forceinline__ void stream_accumulate(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], const Args& args,
    const StreamItem& item, const StreamPartial<Config>& partial, GemmPipeline<Config>& pipeline,
    u32 group) {
  if (item.end <= item.begin) gemm_clear_accumulators<Config>(d);
#pragma unroll 1
  for (i32 begin = item.begin; begin < item.end; begin += args.chain_blocks) {
    const i32 end = min(begin + args.chain_blocks, item.end);
    gemm_define_accumulators<Config>(d);
    gemm_multiply<Config>(
        d, {begin * Config::kTileK, end * Config::kTileK}, pipeline, group, 0, nullptr, [] {},
        args.width_index);
    gemm_wait_products<Config>(d);
    gemm_release<Config>(pipeline, (pipeline.stage == 0 ? pipeline.stages() : pipeline.stage) - 1);
    if (begin > item.begin) partial.add_to(d[0]);
    if (end < item.end) partial.put(d[0]);
  }
}

}  // namespace tw
