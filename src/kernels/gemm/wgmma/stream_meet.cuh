// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a tile that several clusters multiply become one, in the workspace of a run.
//
// A block that multiplies a part of a tile's k leaves its accumulators in the workspace and counts
// itself there. The last one to arrive adds up all parts in the order of k, so that equal inputs
// give equal bits, and writes D. Nobody waits for another block, which may not be resident. A
// counter is zero again when its unit is done; one that does not carry this plan's tag holds
// something else's bytes and counts as zero, so that nobody has to clear a workspace.

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

// Counts a block that has left its part. Returns whether it is the last of `parts`.
__device__ __forceinline__ bool stream_arrive(u64 address, u64 tag, u32 parts) {
  u64 seen = 0;
  for (;;) {
    const u32 arrived = (seen & ~u64{255}) == tag ? static_cast<u32>(seen & 255) : 0;
    const bool last = arrived + 1 == parts;
    const u64 found = ptx::compare_swap(address, seen, last ? 0 : tag | (arrived + 1));
    if (found == seen) return last;
    seen = found;
  }
}

// Columns of a tile that every place in the workspace has room for.
__device__ __forceinline__ i32 stream_widest(const GemmStreamArgs& args) {
  return args.width;
}

// A thread's place for the accumulators of a block's part of a tile: groups of eight columns.
template <class Config>
struct StreamPlace {
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
  __device__ __forceinline__ void put(const float (&d)[Config::kSums]) const {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group * 8 >= width) break;
      const float* const from = &d[group * 4];
      ptx::store_v4(at(group), from[0], from[1], from[2], from[3]);
    }
  }
  __device__ __forceinline__ void add_to(float (&d)[Config::kSums]) const {
#pragma unroll
    for (int from = 0; from < kGroups; from += kAtOnce) {
      if (from * 8 >= width) break;
      float v[kAtOnce][4];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if ((from + i) * 8 < width) ptx::load_l2_v4(at(from + i), v[i]);
#pragma unroll
      for (int i = 0; i < kAtOnce * 4; ++i) d[from * 4 + i] += v[i / 4][i % 4];
    }
  }
};

// Leaves a block's part of a tile for the last of those that share it, which adds up all parts in
// the order of k. Returns whether this block is the last. Of two parts the order does not matter,
// so that its own stays in registers; of more it is read back. All threads of a tile.
template <class Config, class Args>
__device__ __forceinline__ bool stream_meet(float (&d)[Config::kSums], const Args& args, i32 unit,
                                            i32 own, const StreamPlace<Config>& place, u32 rank,
                                            u32 flag) {
  const GemmParts parts = gemm_stream_parts(unit, args.depth, args.share);
  place.put(d);
  ptx::fence_gpu();
  StreamParty<Config>::meet();
  if (StreamParty<Config>::thread() == 0) {
    ptx::fence_gpu();  // what all of them left, before it is counted
    const u64 counter = args.workspace + (static_cast<u64>(unit) * Config::kCluster + rank) * 8;
    const bool last =
        stream_arrive(counter, args.counter_tag, static_cast<u32>(parts.last - parts.first + 1));
    ptx::shared_store<4>(flag, last ? 1u : 0u);
    ptx::fence_gpu();
  }
  StreamParty<Config>::meet();
  if (ptx::shared_load<4>(flag) == 0) return false;
  const bool two = parts.last == parts.first + 1;
  if (!two) {
#pragma unroll
    for (float& value : d) value = 0;
  }
#pragma unroll 1
  for (i32 part = parts.first; part <= parts.last; ++part) {
    if (two && part == own) continue;
    const i32 which = gemm_stream_place(unit, args.depth, args.share, part);
    StreamPlace<Config>(args, part, which, rank).add_to(d);
  }
  return true;
}

// An item's products, in accumulation chains of at most args.chain_blocks, which are added up in
// `place`.
template <class Config, class Args>
__device__ __forceinline__ void stream_accumulate(float (&d)[Config::kPieces][Config::kSums],
                                                  const Args& args, const StreamItem& item,
                                                  const StreamPlace<Config>& place,
                                                  GemmRing<Config>& ring, u32 group) {
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
