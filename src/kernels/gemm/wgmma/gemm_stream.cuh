// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stream-K on Hopper: persistent clusters that share the units behind the last whole wave along k
// (gemm_stream.h), so that all SMs are busy to the end at any number of tiles.
//
// A block that multiplies a part of a tile's k leaves its accumulators in the workspace and counts
// itself there. The last one to arrive adds up all parts in the order of k, so that equal inputs
// give equal bits, and writes D. Nobody waits for another block, which may not be resident. A
// counter is zero again when its unit is done; one that does not carry this plan's tag holds
// something else's bytes and counts as zero, so that nobody has to clear a workspace.
//
// Operands are swapped: rows of a tile are columns of the caller's D, and its columns, tokens, are
// as many as the run asks for. D has whole pieces of 16 bytes, and C is not read.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/epilogue/epilogue_stage.cuh"
#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"

namespace tw {

// A range of one unit's k blocks.
struct StreamItem {
  i32 unit, begin, end;
};

// What a cluster multiplies, item by item: producer and consumers each go through it.
template <class Config>
struct StreamWork {
  const GemmStreamArgs& args;
  i32 blocks;    // of k, in a unit
  i32 unit;      // the next one of its own
  i32 at, stop;  // its k blocks of the shared ones

  __device__ __forceinline__ explicit StreamWork(const GemmStreamArgs& of) : args(of) {
    blocks = (args.base.k + Config::kTileK - 1) / Config::kTileK;
    unit = static_cast<i32>(ptx::block_id_again() / Config::kCluster);
    const i32 shared = (args.base.units_m * args.base.units_n - args.whole_units) * args.depth;
    at = min(unit * args.share, shared);
    stop = min(at + args.share, shared);
  }
  __device__ __forceinline__ bool next(StreamItem* item) {
    if (unit < args.whole_units) {
      *item = {unit, 0, blocks};
      unit += static_cast<i32>(ptx::grid_size_again() / Config::kCluster);
      return true;
    }
    if (at >= stop) return false;
    i32 begin;
    const i32 shared = full_divide(at, args.depth, &begin);
    const i32 end = min(args.depth, begin + stop - at);
    *item = {args.whole_units + shared, begin, min(end, blocks)};
    at += end - begin;
    return true;
  }
};

template <class Config>
__device__ __forceinline__ GemmTileAt stream_tile(const GemmStreamArgs& args, i32 unit, u32 rank) {
  i32 unit_m, unit_n;
  full_unit(args.base, unit, &unit_m, &unit_n);
  const auto rank_m = static_cast<i32>(rank % Config::kClusterM);
  const auto rank_n = static_cast<i32>(rank / Config::kClusterM);
  return {(unit_m * static_cast<i32>(Config::kClusterM) + rank_m) * Config::kTileM,
          (unit_n * static_cast<i32>(Config::kClusterN) + rank_n) * args.width};
}

// This block's share of B's k block, of the columns in use: contiguous along k, a part of them;
// otherwise a part of the block's k, in boxes of 64 columns.
template <class Config>
__device__ __forceinline__ void stream_load_b(const GemmStreamArgs& args,
                                              const GemmRing<Config>& ring, i32 n0, i32 k,
                                              u32 rank) {
  constexpr u32 kSharers = Config::kClusterM;
  const u32 barrier = ring.full_barrier(ring.stage);
  const u32 share = rank % kSharers;
  const auto load = [&](u32 to, i32 x, i32 y) {
    if constexpr (kSharers == 1)
      ptx::load_tile(to, &args.base.map_b, barrier, x, y);
    else
      ptx::load_tile_multicast(to, &args.base.map_b, barrier, x, y,
                               ((1u << kSharers) - 1) << (rank - share));
  };
  if constexpr (!Config::kRowB) {
    const u32 line = share * (static_cast<u32>(args.width) / kSharers);
    load(ring.b() + line * 128, k, n0 + static_cast<i32>(line));
  } else {
    constexpr u32 kPart = Config::kTileK / kSharers;
    const u32 to = ring.b() + share * kPart * 128;
#pragma unroll 1
    for (i32 box = 0; box * 64 < args.width; ++box)
      load(to + static_cast<u32>(box) * (Config::kTileK * 128), n0 + box * 64,
           k + static_cast<i32>(share * kPart));
  }
}

template <class Config>
__device__ __forceinline__ void stream_load(const GemmStreamArgs& args,
                                            const GemmRing<Config>& ring, const GemmTileAt& tile,
                                            i32 k, u32 rank, u32 which) {
  if (which & kGemmEarlyA) gemm_load_block<Config>(args.base, ring, tile, k, rank, kGemmEarlyA);
  if (which & kGemmEarlyB) stream_load_b<Config>(args, ring, tile.n0, k, rank);
}

// The first item's k blocks that fill the ring. In a programmatic launch operands that are constant
// are loaded before the predecessor grids have ended. Returns the k block that is next.
template <class Config>
__device__ __forceinline__ i32 stream_fill(const GemmStreamArgs& args, GemmRing<Config>& ring,
                                           const StreamItem& item, const GemmTileAt& tile,
                                           u32 rank) {
  const i32 end = min(item.end, item.begin + ring.stages());
  const u32 early = args.base.early;
  if (early == 0) ptx::grid_dependency_wait();
  const u32 first = early == 0 ? u32{kGemmEarlyBoth} : early;
  GemmRing<Config> late = ring;
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.base.stage_bytes);
    stream_load<Config>(args, ring, tile, block * Config::kTileK, rank, first);
    ring.advance();
  }
  if (early == 0) return end;
  ptx::grid_dependency_wait();
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    stream_load<Config>(args, late, tile, block * Config::kTileK, rank, early ^ kGemmEarlyBoth);
    late.advance();
  }
  return end;
}

template <class Config>
__device__ __forceinline__ void stream_produce(const GemmStreamArgs& args, GemmRing<Config> ring,
                                               u32 rank) {
  StreamWork<Config> work(args);
  StreamItem item;
  bool filled = false;
  while (work.next(&item)) {
    const GemmTileAt tile = stream_tile<Config>(args, item.unit, rank);
    i32 block = item.begin;
    if (!filled) block = stream_fill<Config>(args, ring, item, tile, rank);
    filled = true;
#pragma unroll 1
    for (; block < item.end; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.base.stage_bytes);
      stream_load<Config>(args, ring, tile, block * Config::kTileK, rank, kGemmEarlyBoth);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_all_read<Config>(ring);
}

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

// A thread's place for the accumulators of a block's part of a tile: groups of eight columns.
template <class Config>
struct StreamPlace {
  static constexpr u32 kThreads = 128 * Config::kConsumers;
  static constexpr int kGroups = Config::kTileN / 8;
  static constexpr int kAtOnce = 8;  // loads on their way together: each takes a microsecond
  u64 first;
  i32 width;

  // Place 0 or 1 of cluster `cluster`'s.
  __device__ __forceinline__ StreamPlace(const GemmStreamArgs& args, i32 cluster, i32 place,
                                         u32 rank)
      : width(args.width) {
    const u32 tile = static_cast<u32>(cluster * 2 + place) * Config::kCluster + rank;
    first = args.workspace + args.partials +
            u64{tile} * gemm_stream_tile_bytes(Config::kTileM, static_cast<u32>(width)) +
            (threadIdx.x - 128) * 16;
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

// An item's products, in chains of at most args.chain_blocks, which are added up in `place`.
template <class Config>
__device__ __forceinline__ void stream_accumulate(float (&d)[Config::kPieces][Config::kSums],
                                                  const GemmStreamArgs& args,
                                                  const StreamItem& item,
                                                  const StreamPlace<Config>& place,
                                                  GemmRing<Config>& ring, u32 first_piece) {
#pragma unroll 1
  for (i32 begin = item.begin; begin < item.end; begin += args.chain_blocks) {
    const i32 end = min(begin + args.chain_blocks, item.end);
    gemm_no_products<Config>(d);  // for the compiler's sake: the first product overwrites them
    gemm_multiply<Config>(
        d, {begin * Config::kTileK, end * Config::kTileK}, ring, first_piece, 0, nullptr, [] {},
        args.width_number);
    gemm_wait_products<Config>(d);
    gemm_release<Config>(ring, (ring.stage == 0 ? ring.stages() : ring.stage) - 1);
    if (begin > item.begin) place.add_to(d[0]);
    if (end < item.end) place.put(d[0]);
  }
}

// Leaves a block's part of a tile for the last of those that share it, which adds up all parts in
// the order of k. Returns whether this block is the last. Of two parts the order does not matter,
// so that its own stays in registers; of more it is read back. All threads of the consumers.
template <class Config>
__device__ __forceinline__ bool stream_meet(float (&d)[Config::kPieces][Config::kSums],
                                            const GemmStreamArgs& args, i32 unit, i32 own,
                                            const StreamPlace<Config>& place, u32 rank, u32 flag) {
  constexpr u32 kThreads = StreamPlace<Config>::kThreads;
  const GemmParts parts = gemm_stream_parts(unit, args.depth, args.share);
  place.put(d[0]);
  ptx::fence_gpu();
  ptx::named_barrier(1, kThreads);
  if (threadIdx.x == 128) {
    ptx::fence_gpu();  // what all of them left, before it is counted
    const u64 counter = args.workspace + (static_cast<u64>(unit) * Config::kCluster + rank) * 8;
    const bool last =
        stream_arrive(counter, args.counter_tag, static_cast<u32>(parts.last - parts.first + 1));
    ptx::shared_store<4>(flag, last ? 1u : 0u);
    ptx::fence_gpu();
  }
  ptx::named_barrier(1, kThreads);
  if (ptx::shared_load<4>(flag) == 0) return false;
  const bool two = parts.last == parts.first + 1;
  if (!two) gemm_no_products<Config>(d);
#pragma unroll 1
  for (i32 part = parts.first; part <= parts.last; ++part) {
    if (two && part == own) continue;
    const i32 which = gemm_stream_place(unit, args.depth, args.share, part);
    StreamPlace<Config>(args, part, which, rank).add_to(d[0]);
  }
  return true;
}

// The warpgroup's 64 rows of a tile, whose first element is (m0, n0), to D: slab by slab of columns
// through shared memory, by stores of 16 bytes. The TMA would serve them behind the loads of the
// next tile, which it already has.
template <class Config>
__device__ __forceinline__ void stream_write(float (&d)[Config::kSums], const GemmStreamArgs& args,
                                             u32 staging, u32 group, i32 m0, i32 n0) {
  using Out = typename Config::Out;
  constexpr auto kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr auto kLines = static_cast<i32>(Config::kSlab.lines);
  constexpr i32 kAcross = 64 / kContiguous;
  constexpr i32 kPiece = 16 / static_cast<i32>(Out::kBytes);  // elements
  if (args.base.alpha != 1.0f) {
#pragma unroll
    for (float& value : d) value *= args.base.alpha;
  }
  const i32 end = min(n0 + args.width, args.base.n);
  const auto thread = static_cast<i32>(threadIdx.x % 128);
  const i32 line0 = thread / 8, piece = thread % 8;
#pragma unroll
  for (i32 slab = 0; slab < kAcross * (Config::kTileN / kLines); ++slab) {
    const i32 x = m0 + slab % kAcross * kContiguous + piece * kPiece;
    const i32 y = n0 + slab / kAcross * kLines;
    if (y >= end) break;
    const u32 buffer = staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
    epilogue_stage_transposed<Config>(d, buffer, slab % kAcross, slab / kAcross);
    // What the slab before last held is read by all who pass here.
    ptx::named_barrier(2 + group, 128);
    if (x >= args.base.m) continue;
#pragma unroll
    for (i32 first = 0; first < kLines; first += 16) {
      const i32 line = first + line0;
      if (y + line >= end) break;
      const u64 to =
          args.base.d + static_cast<u64>((y + line) * args.base.d_stride_m + x) * Out::kBytes;
      ptx::store_unit<16>(to, ptx::shared_load<16>(epilogue_place<Config>(
                                  buffer, static_cast<u32>(line), static_cast<u32>(piece))));
    }
  }
  ptx::named_barrier(2 + group, 128);  // the next tile begins with the first slab again
}

template <class Config>
__device__ __forceinline__ void stream_consume(const GemmStreamArgs& args, GemmRing<Config> ring,
                                               u32 rank, u32 group) {
  const u32 first_piece = group * Config::kPieces;
  const u32 staging = ring.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  const i32 cluster = static_cast<i32>(ptx::block_id_again() / Config::kCluster);
  StreamWork<Config> work(args);
  StreamItem item;
  ptx::grid_dependency_wait();
  float d[Config::kPieces][Config::kSums];
  while (work.next(&item)) {
    const GemmTileAt tile = stream_tile<Config>(args, item.unit, rank);
    const i32 shared = item.unit - args.whole_units;
    const i32 which = shared < 0 ? 0 : gemm_stream_place(shared, args.depth, args.share, cluster);
    const StreamPlace<Config> place(args, cluster, which, rank);
    stream_accumulate<Config>(d, args, item, place, ring, first_piece);
    if (item.end - item.begin < work.blocks &&
        !stream_meet<Config>(d, args, shared, cluster, place, rank, ring.tile(0)))
      continue;
    stream_write<Config>(d[0], args, staging, group, tile.m0 + static_cast<i32>(first_piece) * 64,
                         tile.n0);
  }
}

template <class Config>
__device__ __forceinline__ void gemm_stream(const GemmStreamArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmRing<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  ring.run = &args;
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() : 0;
  if (warp == 0 && ptx::elect_one()) {
    ptx::prefetch_map(&args.base.map_a);
    ptx::prefetch_map(&args.base.map_b);
    for (i32 stage = 0; stage < args.stages; ++stage) {
      ptx::mbarrier_init(ring.full_barrier(stage), 1);
      ptx::mbarrier_init(ring.empty_barrier(stage), Config::kReaders * Config::kReached);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::sync_block();
  if (Config::kCluster > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<232>();
    stream_consume<Config>(args, ring, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    if (Config::kConsumers > 1) ptx::set_max_registers_down<40>();
    if (warp == 0 && ptx::elect_one()) stream_produce<Config>(args, ring, rank);
    __syncwarp();
    ptx::grid_dependency_wait();  // a grid ends after its predecessors
  }
}

}  // namespace tw
