// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warp of the stream-K kernels: loads A and the columns of B in use. kHalves: A is
// gated and its two halves lie apart, so that half of a tile's rows come from each.

#include "kernels/gemm/wgmma/full_begin.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"

namespace tw {

template <class Config>
struct StreamMaps {
  const KernelMap *a, *b;
  i32 a_index, b_index;  // index in the batch dimension

  __device__ __forceinline__ StreamMaps(const GemmStreamArgs& args, i32 z) {
    if constexpr (Config::kFull) {
      const GemmMapsAt at = gemm_maps_at(args.full, z);
      a = at.a, b = at.b, a_index = at.a_index, b_index = at.b_index;
      if (args.full.maps == 0) return;
      ptx::tensormap_acquire(a);
      ptx::tensormap_acquire(b);
    } else {
      a = &args.full.base.map_a, b = &args.full.base.map_b, a_index = b_index = 0;
    }
  }
};

// Loads this CTA's share of the columns of B in use for one k block. If B is contiguous along k,
// the share is a part of the columns; otherwise a part of the block's k, in boxes of 64 columns.
template <class Config>
__device__ __forceinline__ void stream_load_b(const GemmStreamArgs& args,
                                              const GemmPipeline<Config>& ring,
                                              const StreamMaps<Config>& maps, i32 n0, i32 k,
                                              u32 rank) {
  constexpr u32 kSharers = Config::kClusterM;
  const u32 barrier = ring.full_barrier(ring.stage);
  const u32 share = rank % kSharers;
  const auto load = [&](u32 to, i32 x, i32 y) {
    if constexpr (Config::kFull)
      ptx::load_tile(to, maps.b, barrier, x, y, maps.b_index);
    else if constexpr (kSharers == 1)
      ptx::load_tile(to, maps.b, barrier, x, y);
    else
      ptx::load_tile_multicast(to, maps.b, barrier, x, y, ((1u << kSharers) - 1) << (rank - share));
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

// Loads A's k block in a kernel of narrow types. The gate is tested for each k block, since a
// separate loop would need more registers.
template <class Config>
__device__ __forceinline__ void stream_load_narrow(const GemmStreamArgs& args,
                                                   const GemmPipeline<Config>& ring,
                                                   const StreamMaps<Config>& maps, i32 m0, i32 k) {
  const i32 lines = args.full.gate == kGateHalves ? 32 : Config::kTileM;
#pragma unroll 1
  for (i32 line = 0; line < Config::kTileM; line += lines)
    ptx::load_tile(ring.a() + static_cast<u32>(line) * 128, maps.a, ring.full_barrier(ring.stage),
                   k, full_line(args.full, m0 + line / 64 * 64, line % 64, 64), maps.a_index);
}

template <class Config, bool kHalves>
__device__ __forceinline__ void stream_load(const GemmStreamArgs& args,
                                            const GemmPipeline<Config>& ring,
                                            const StreamMaps<Config>& maps, const FullTile& tile,
                                            i32 k, u32 rank, u32 which) {
  static_assert(!Config::kFull || Config::kCluster == 1,
                "stream-K epilogue kernels have no clusters, so no multicast");
  if constexpr (Config::kScaled) {
    if (which & kGemmEarlyA) stream_load_narrow<Config>(args, ring, maps, tile.m0, k);
  } else if constexpr (Config::kFull) {
    // With kHalves, each warpgroup has 32 gate rows and the 32 rows that they gate.
    constexpr u32 kLines = kHalves ? 64 : Config::kTileM;
#pragma unroll
    for (u32 first = 0; first < Config::kTileM; first += kLines)
      if (which & kGemmEarlyA)
        full_load_share<!Config::kColumnA, kHalves, kLines, Config::kTileK, 1>(
            args.full, ring.a() + first * 128, maps.a, ring.full_barrier(ring.stage),
            tile.m0 + static_cast<i32>(first), k, maps.a_index, 0, 1);
  } else {
    if (which & kGemmEarlyA)
      gemm_load_block<Config>(args.full.base, ring, {tile.m0, tile.n0}, k, rank, kGemmEarlyA);
  }
  if (which & kGemmEarlyB) stream_load_b<Config>(args, ring, maps, tile.n0, k, rank);
}

// Fills the stages with the first item's k blocks. In a PDL launch, constant operands are loaded
// before the predecessor grids have ended. Returns the next k block.
template <class Config, bool kHalves>
__device__ __forceinline__ i32 stream_fill(const GemmStreamArgs& args, GemmPipeline<Config>& ring,
                                           const StreamMaps<Config>& maps, const StreamItem& item,
                                           const FullTile& tile, u32 rank) {
  const i32 end = min(item.end, item.begin + ring.stages());
  const u32 early = args.full.base.early;
  const u32 first = early == 0 ? u32{kGemmEarlyBoth} : early;
  GemmPipeline<Config> late = ring;
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.full.base.stage_bytes);
    stream_load<Config, kHalves>(args, ring, maps, tile, block * Config::kTileK, rank, first);
    ring.advance();
  }
  if (early == 0) return end;
  ptx::grid_dependency_wait();
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    stream_load<Config, kHalves>(args, late, maps, tile, block * Config::kTileK, rank,
                                 early ^ kGemmEarlyBoth);
    late.advance();
  }
  return end;
}

// If `early` is set, sizes may be read without a wait: none is in device memory, or the predecessor
// is a staging copy, which has itself waited.
template <class Config, bool kHalves>
__device__ __forceinline__ void stream_produce(const GemmStreamArgs& args,
                                               GemmPipeline<Config> ring, u32 rank) {
  if (args.full.base.early == 0) ptx::grid_dependency_wait();
  typename StreamSizes<Config>::Type sizes = StreamSizes<Config>::of(args);
  StreamWork<Config> work(args, sizes);
  StreamItem item;
  bool filled = false;
  while (work.next(&item)) {
    const FullTile tile = stream_tile<Config>(args, sizes, item.unit, rank);
    const StreamMaps<Config> maps(args, tile.z);
    i32 block = item.begin;
    if (!filled) block = stream_fill<Config, kHalves>(args, ring, maps, item, tile, rank);
    filled = true;
#pragma unroll 1
    for (; block < item.end; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.full.base.stage_bytes);
      stream_load<Config, kHalves>(args, ring, maps, tile, block * Config::kTileK, rank,
                                   kGemmEarlyBoth);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(ring);
}

}  // namespace tw
