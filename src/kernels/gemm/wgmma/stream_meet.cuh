// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a tile that several clusters multiply become one, in the workspace of a run.
//
// A block that multiplies a part of a tile's k leaves its accumulators in the workspace and counts
// itself there. The last one to arrive adds up all parts in the order of k, so that equal inputs
// give equal bits, and writes D. Nobody waits for another block, which may not be resident. When a
// unit is done its counter has no count but keeps the tag, by which the next run knows it: one that
// does not carry the tag holds something else's bytes and counts as zero, so that nobody has to
// clear a workspace.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"

namespace tw {

// The threads that multiply a tile together.
template <class Config>
struct StreamParty {
  static constexpr u32 kThreads = 128 * Config::kConsumers;
  static __device__ __forceinline__ u32 thread() { return threadIdx.x - 128; }
  static __device__ __forceinline__ void meet() { ptx::named_barrier(1, kThreads); }
};

// Counts a block that has left its part. Returns whether it is the last of `parts`. An addition is
// one way to the L2 and back, however many come at once; only where the counter holds something
// else's bytes do those that come compare and swap until the first of them has put the tag there.
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

// Columns of a tile that every place in the workspace has room for.
template <class Args>
__device__ __forceinline__ i32 stream_widest(const Args& args) {
  return args.width;
}

// Calls use(StreamIndex<0>()) and so on: an index that is part of an instruction.
template <int kIndex>
struct StreamIndex {
  static constexpr int kValue = kIndex;
};
template <int kCount, int kIndex = 0, class Use>
__device__ __forceinline__ void stream_each(Use use) {
  if constexpr (kIndex < kCount) {
    use(StreamIndex<kIndex>{});
    stream_each<kCount, kIndex + 1>(use);
  }
}

// Sums as they lie in a workspace, and what is added to them from there.
__device__ __forceinline__ float stream_left(float sum) {
  return sum;
}
__device__ __forceinline__ float stream_left(i32 sum) {
  return __int_as_float(sum);
}
__device__ __forceinline__ void stream_add(float& sum, float left) {
  sum += left;
}
__device__ __forceinline__ void stream_add(i32& sum, float left) {
  sum += __float_as_int(left);
}
template <class Sum>
inline constexpr float kStreamNothing = -0.0f;  // that changes no sum
template <>
inline constexpr float kStreamNothing<i32> = 0.0f;

// A thread's place for the accumulators of a block's part of a tile: groups of eight columns.
template <class Config>
struct StreamPlace {
  using Sum = typename Config::Sum;
  static constexpr u32 kThreads = StreamParty<Config>::kThreads;
  static constexpr int kGroups = Config::kTileN / 8;
  // Loads on their way together, which take a microsecond: as many as there are registers for.
  static constexpr int kAtOnce = Config::kFull ? 4 : 8;
  u64 first;
  i32 width;

  // Place 0 or 1 of cluster `cluster`'s.
  template <class Args>
  __device__ __forceinline__ StreamPlace(const Args& args, i32 cluster, i32 place, u32 rank)
      : width(args.width) {
    const u32 tile = static_cast<u32>(cluster * 2 + place) * Config::kCluster + rank;
    first =
        args.workspace + args.partials +
        u64{tile} * gemm_stream_tile_bytes(Config::kTileM, static_cast<u32>(stream_widest(args))) +
        StreamParty<Config>::thread() * 16;
  }
  __device__ __forceinline__ u64 at(int group) const {
    return first + static_cast<u32>(group) * (kThreads * 16);
  }
  __device__ __forceinline__ void put(const Sum (&d)[Config::kSums]) const {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group * 8 >= width) break;
      const Sum* const from = &d[group * 4];
      ptx::store_v4(at(group), stream_left(from[0]), stream_left(from[1]), stream_left(from[2]),
                    stream_left(from[3]));
    }
  }
  __device__ __forceinline__ void add_to(Sum (&d)[Config::kSums]) const {
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

// The sum of a unit's parts, in their order. What is read takes a microsecond to come: four groups
// of columns of kParts parts are on their way together. d is written group by group, so that those
// behind need no registers yet.
template <class Config, class Args>
__device__ __forceinline__ void stream_add_parts(typename Config::Sum (&d)[Config::kSums],
                                                 const Args& args, i32 unit, GemmParts parts,
                                                 u32 rank) {
  using Sum = typename Config::Sum;
  using Place = StreamPlace<Config>;
  constexpr int kColumns = 4;
  stream_each<Place::kGroups / kColumns>([&](auto chunk) {
    constexpr int kFrom = decltype(chunk)::kValue * kColumns;
    constexpr int kParts = kFrom == 0 ? 8 : kFrom == kColumns ? 4 : 2;
    Sum sum[kColumns * 4] = {};
    if (kFrom * 8 < args.width) {
#pragma unroll 1
      for (i32 first = parts.first; first <= parts.last; first += kParts) {
        float v[kParts][kColumns][4];
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
          // Behind the last part it is read again, so that no load waits for a branch.
          const i32 part = min(first + i, parts.last);
          const i32 which = gemm_stream_place(unit, args.depth, args.share, part);
          const Place place(args, part, which, rank);
          stream_each<kColumns>([&](auto column) {
            constexpr int kColumn = decltype(column)::kValue;
            // Widths are multiples of two groups.
            if (kColumn < 2 || (kFrom + 2) * 8 < args.width)
              ptx::load_l2_v4<(kFrom + kColumn) * Place::kThreads * 16>(place.first, v[i][kColumn]);
            else
              v[i][kColumn][0] = v[i][kColumn][1] = v[i][kColumn][2] = v[i][kColumn][3] = 0;
          });
        }
#pragma unroll
        for (int i = 0; i < kParts; ++i)
#pragma unroll
          for (int j = 0; j < kColumns * 4; ++j)
            stream_add(sum[j], first + i <= parts.last ? v[i][j / 4][j % 4] : kStreamNothing<Sum>);
      }
    }
#pragma unroll
    for (int j = 0; j < kColumns * 4; ++j) d[kFrom * 4 + j] = sum[j];
  });
}

// Leaves a block's part of a tile for the last of those that share it, which adds up all parts in
// the order of k, its own among them. Returns whether this block is the last. All threads of a
// tile.
template <class Config, class Args>
__device__ __forceinline__ bool stream_meet(typename Config::Sum (&d)[Config::kSums],
                                            const Args& args, i32 unit,
                                            const StreamPlace<Config>& place, u32 rank, u32 flag) {
  const GemmParts parts = gemm_stream_parts(unit, args.depth, args.share);
  place.put(d);
  StreamParty<Config>::meet();
  if (StreamParty<Config>::thread() == 0) {
    // Releases what all of them left, and acquires what others did.
    const u64 counter = args.workspace + (static_cast<u64>(unit) * Config::kCluster + rank) * 8;
    const bool last =
        stream_arrive(counter, args.counter_tag, static_cast<u32>(parts.last - parts.first + 1));
    ptx::shared_store<4>(flag, last ? 1u : 0u);
  }
  StreamParty<Config>::meet();
  if (ptx::shared_load<4>(flag) == 0) return false;
  stream_add_parts<Config>(d, args, unit, parts, rank);
  return true;
}

// An item's products, in accumulation chains of at most args.chain_blocks, which are added up in
// `place`.
template <class Config, class Args>
__device__ __forceinline__ void stream_accumulate(
    typename Config::Sum (&d)[Config::kPieces][Config::kSums], const Args& args,
    const StreamItem& item, const StreamPlace<Config>& place, GemmRing<Config>& ring, u32 group) {
  if (item.end <= item.begin) gemm_no_products<Config>(d);
#pragma unroll 1
  for (i32 begin = item.begin; begin < item.end; begin += args.chain_blocks) {
    const i32 end = min(begin + args.chain_blocks, item.end);
    gemm_no_products<Config>(d);  // for the compiler's sake: the first product overwrites them
    gemm_multiply<Config>(
        d, {begin * Config::kTileK, end * Config::kTileK}, ring, group, 0, nullptr, [] {},
        args.width_number);
    gemm_wait_products<Config>(d);
    gemm_release<Config>(ring, (ring.stage == 0 ? ring.stages() : ring.stage) - 1);
    if (begin > item.begin) place.add_to(d[0]);
    if (end < item.end) place.put(d[0]);
  }
}

}  // namespace tw
