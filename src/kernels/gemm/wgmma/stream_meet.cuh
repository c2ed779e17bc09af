// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds up the parts of a tile that several workers (gemm_stream.h) have multiplied, in the run's
// workspace. stream_join.cuh adds them up in a cluster's shared memory instead.
//
// A CTA that multiplied a part of a tile's k stores its accumulators in the workspace. When all
// parts are stored, the CTAs that wait for this divide the tile's columns into slices. If no CTA
// waits, the one that stored the last part takes all columns (stream_slices.cuh). A CTA adds up all
// parts of its slice in the order of k, so that equal inputs give equal bits, and writes the slice
// to D.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/stream_slices.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/global_own.cuh"

namespace tw {

// Number of columns in a slot. A slot is the memory in the workspace for one CTA's accumulators of
// one tile.
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

// The workspace holds accumulators as floats. An i32 accumulator is stored as the float with the
// same bits. stream_as_float() returns the float to store, and stream_add() adds a stored one.
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

// A thread's accumulators in a slot of the workspace, in groups of eight columns. A thread has four
// accumulators of each group.
template <class Config>
struct StreamPartial {
  using Sum = typename Config::Sum;
  static constexpr u32 kThreads = StreamConsumers<Config>::kThreads;
  static constexpr int kGroups = Config::kTileN / 8;
  // Groups that are loaded at once: as many as registers allow, since a load takes about a
  // microsecond.
  static constexpr int kAtOnce = Config::kFull ? 4 : 8;
  u64 first_group;  // address of the thread's accumulators in group 0
  i32 width;

  // The address of slot 0 or 1 of a worker's CTA.
  template <class Args>
  static __device__ __forceinline__ u64 slot_address(const Args& args, i32 worker, i32 slot,
                                                     u32 rank) {
    const u32 slot_index =
        (static_cast<u32>(worker * 2 + slot) << stream_cluster_log<Config>(args)) + rank;
    return args.workspace + args.partials_offset +
           u64{slot_index} *
               gemm_stream_tile_bytes(Config::kTileM, static_cast<u32>(stream_slot_columns(args)));
  }
  template <class Args>
  __device__ __forceinline__ StreamPartial(const Args& args, i32 worker, i32 slot, u32 rank)
      : first_group(slot_address(args, worker, slot, rank) +
                    StreamConsumers<Config>::thread() * 16),
        width(args.width) {}
  __device__ __forceinline__ u64 address(int group) const {
    return first_group + static_cast<u32>(group) * (kThreads * 16);
  }
  __device__ __forceinline__ void store(const Sum (&d)[Config::kAccumulators]) const {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group * 8 >= width) break;
      const Sum* const sums = &d[group * 4];
      ptx::store_v4(address(group), stream_as_float(sums[0]), stream_as_float(sums[1]),
                    stream_as_float(sums[2]), stream_as_float(sums[3]));
    }
  }
  __device__ __forceinline__ void add_to(Sum (&d)[Config::kAccumulators]) const {
    static_assert(kGroups % kAtOnce == 0, "kAtOnce groups at a time would exceed the accumulators");
#pragma unroll
    for (int first = 0; first < kGroups; first += kAtOnce) {
      if (first * 8 >= width) break;
      float v[kAtOnce][4];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if ((first + i) * 8 < width) ptx::load_l2_v4(address(first + i), v[i]);
#pragma unroll
      for (int i = 0; i < kAtOnce * 4; ++i) stream_add(d[first * 4 + i], v[i / 4][i % 4]);
    }
  }
};

// Adds up all parts of a slice of a divided unit in the order of k. Column slice.first + c of the
// tile becomes column c of d, and the columns of d after the slice become 0. `divided_unit` is the
// unit's index among the divided units.
//
// The columns are added up in chunks of kChunkGroups groups. A load takes about a microsecond, so
// kParts parts of a chunk are loaded at once. The first chunks can load more parts at once, because
// the accumulators of later chunks do not take registers yet.
template <class Config, class Args>
__device__ __forceinline__ void stream_add_parts(typename Config::Sum (&d)[Config::kAccumulators],
                                                 const Args& args, i32 divided_unit,
                                                 StreamSlice slice, u32 rank) {
  using Sum = typename Config::Sum;
  using Partial = StreamPartial<Config>;
  constexpr int kChunkGroups = 4;  // groups of eight columns
  static_assert(Partial::kGroups % kChunkGroups == 0, "a tile must have whole chunks");
  // The workers that multiplied the parts.
  const GemmParts workers = gemm_stream_parts(divided_unit, args.padded_k_blocks, args.share);
  // Bytes from a slot's start to the thread's first accumulators of the slice.
  const u32 slice_offset = static_cast<u32>(slice.first / 8) * (Partial::kThreads * 16) +
                           StreamConsumers<Config>::thread() * 16;
  stream_for_constants<Partial::kGroups / kChunkGroups>([&](auto chunk) {
    constexpr int kFirstGroup = decltype(chunk)::kValue * kChunkGroups;
    constexpr int kParts = kFirstGroup == 0 ? 8 : kFirstGroup == kChunkGroups ? 4 : 2;
    Sum sum[kChunkGroups * 4] = {};
    if (kFirstGroup * 8 < slice.columns) {
#pragma unroll 1
      for (i32 first = workers.first; first <= workers.last; first += kParts) {
        float v[kParts][kChunkGroups][4];
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          // If fewer than kParts parts are left, the last one is loaded again and not added, so
          // that no load waits for a branch.
          const i32 worker = min(first + i, workers.last);
          const i32 slot = gemm_stream_slot(divided_unit, args.padded_k_blocks, args.share, worker);
          const u64 from = Partial::slot_address(args, worker, slot, rank) + slice_offset;
          stream_for_constants<kChunkGroups>([&](auto group) {
            constexpr int kGroup = decltype(group)::kValue;
            // A slice has a multiple of 16 columns, which are two groups.
            if (kGroup < 2 || (kFirstGroup + 2) * 8 < slice.columns)
              ptx::load_l2_v4<(kFirstGroup + kGroup) * Partial::kThreads * 16>(from, v[i][kGroup]);
            else
              v[i][kGroup][0] = v[i][kGroup][1] = v[i][kGroup][2] = v[i][kGroup][3] = 0;
          });
        }
#pragma unroll
        for (int i = 0; i < kParts; ++i)
#pragma unroll
          for (int j = 0; j < kChunkGroups * 4; ++j)
            stream_add(sum[j], first + i <= workers.last ? v[i][j / 4][j % 4] : kStreamZero<Sum>);
      }
    }
#pragma unroll
    for (int j = 0; j < kChunkGroups * 4; ++j) d[kFirstGroup * 4 + j] = sum[j];
  });
}

// Multiplies k blocks `begin` to `end` - 1 of a unit, waits for the products and releases the last
// stage.
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

// Multiplies an item in accumulation chains of at most args.chain_blocks k blocks. If
// kStreamParksChains is set, the chains are equally long and are added up in registers, and the
// first chain of warpgroup 1 may have up to kGemmChainStagger k blocks more. Otherwise they are
// added up in the CTA's slot of the workspace (`partial`).
template <class Config, class Args>
__device__ __forceinline__ void stream_accumulate(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], const Args& args,
    const StreamItem& item, const StreamPartial<Config>& partial, GemmPipeline<Config>& pipeline,
    u32 group) {
  if constexpr (Config::kStreamParksChains) {
    if (item.end <= item.begin) return gemm_clear_accumulators<Config>(d);
    u32 parked[Config::kRowBlocks][Config::kAccumulators / 2];  // see gemm_park()
    const i32 blocks = item.end - item.begin;
    const i32 chains = (blocks + args.chain_blocks - 1) / args.chain_blocks;
    const i32 each = (blocks + chains - 1) / chains;
    const i32 later =
        each > 2 * kGemmChainStagger ? gemm_chain_stagger(pipeline.stages(), group) : 0;
    gemm_define_accumulators<Config>(d);
    i32 begin = item.begin;
#pragma unroll 1
    for (i32 chain = 0; chain < chains; ++chain) {
      const i32 end = chain + 1 < chains ? item.begin + (chain + 1) * each + later : item.end;
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
      if (end < item.end) partial.store(d[0]);
    }
  }
}

}  // namespace tw
