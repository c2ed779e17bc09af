// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warp of the stream-K kernels, which loads A and the columns of B in use. kHalves: A
// has a gate of halves, which lie apart, so that half of a tile's rows come from each half. "full"
// in names means an epilogue kernel.

#include "kernels/gemm/wgmma/full_begin.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"

namespace tw {

template <class Config>
struct StreamMaps {
  const KernelMap *a, *b;
  i32 a_index, b_index;  // index in the batch dimension

  __device__ __forceinline__ StreamMaps(const GemmStreamArgs& args, i32 z) {
    if constexpr (Config::kFull) {
      const GemmProductMaps at = gemm_product_maps(args.full, z);
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
// the share is a part of the columns. Otherwise it is a part of the block's k, in boxes of 64
// columns.
template <class Config>
__device__ __forceinline__ void stream_load_b(const GemmStreamArgs& args,
                                              const GemmPipeline<Config>& pipeline,
                                              const StreamMaps<Config>& maps, i32 n0, i32 k,
                                              u32 rank) {
  constexpr u32 kSharers = Config::kClusterM;
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
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
    load(pipeline.b() + line * 128, k, n0 + static_cast<i32>(line));
  } else {
    constexpr u32 kPart = Config::kTileK / kSharers;
    const u32 to = pipeline.b() + share * kPart * 128;
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
                                                   const GemmPipeline<Config>& pipeline,
                                                   const StreamMaps<Config>& maps, i32 m0, i32 k) {
  const i32 lines = args.full.gate == kGateHalves ? 32 : Config::kTileM;
#pragma unroll 1
  for (i32 line = 0; line < Config::kTileM; line += lines)
    ptx::load_tile(pipeline.a() + static_cast<u32>(line) * 128, maps.a,
                   pipeline.full_barrier(pipeline.stage), k,
                   full_line(args.full, m0 + line / 64 * 64, line % 64, 64), maps.a_index);
}

template <class Config, bool kHalves>
__device__ __forceinline__ void stream_load(const GemmStreamArgs& args,
                                            const GemmPipeline<Config>& pipeline,
                                            const StreamMaps<Config>& maps,
                                            const GemmTileOrigin& tile, i32 k, u32 rank,
                                            u32 which) {
  static_assert(!Config::kFull || Config::kCluster == 1,
                "stream-K epilogue kernels have no multicast");
  if constexpr (Config::kNarrow) {
    if (which & kGemmOperandA) stream_load_narrow<Config>(args, pipeline, maps, tile.m0, k);
  } else if constexpr (Config::kFull) {
    // With kHalves, each warpgroup has 32 gate rows and the 32 value rows that belong to these.
    constexpr u32 kLines = kHalves ? 64 : Config::kTileM;
#pragma unroll
    for (u32 first = 0; first < Config::kTileM; first += kLines)
      if (which & kGemmOperandA)
        full_load_share<!Config::kColumnA, kHalves, kLines, Config::kTileK, 1>(
            args.full, pipeline.a() + first * 128, maps.a, pipeline.full_barrier(pipeline.stage),
            tile.m0 + static_cast<i32>(first), k, maps.a_index, 0, 1);
  } else {
    if (which & kGemmOperandA)
      gemm_load_block<Config>(args.full.base, pipeline, {tile.m0, tile.n0}, k, rank, kGemmOperandA);
  }
  if (which & kGemmOperandB) stream_load_b<Config>(args, pipeline, maps, tile.n0, k, rank);
}

// Fills the stages with the first item's k blocks. In a dependent launch (PDL), constant operands
// are loaded before the predecessor grids have ended. Returns the next k block.
template <class Config, bool kHalves>
__device__ __forceinline__ i32 stream_fill(const GemmStreamArgs& args,
                                           GemmPipeline<Config>& pipeline,
                                           const StreamMaps<Config>& maps, const StreamItem& item,
                                           const GemmTileOrigin& tile, u32 rank) {
  const i32 end = min(item.end, item.begin + pipeline.stages());
  const u32 early = args.full.base.early;
  const u32 first = early == 0 ? u32{kGemmOperandBoth} : early;
  GemmPipeline<Config> late = pipeline;
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.full.base.stage_bytes);
    stream_load<Config, kHalves>(args, pipeline, maps, tile, block * Config::kTileK, rank, first);
    pipeline.advance();
  }
  if (early == 0) return end;
  ptx::grid_dependency_wait();
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    stream_load<Config, kHalves>(args, late, maps, tile, block * Config::kTileK, rank,
                                 early ^ kGemmOperandBoth);
    late.advance();
  }
  return end;
}

// Loads all items of the CTA. If args.full.base.early is set, sizes may be read without a wait:
// either none is in device memory, or the predecessor is a staging copy, which has itself waited.
template <class Config, bool kHalves>
__device__ __forceinline__ void stream_produce(const GemmStreamArgs& args,
                                               GemmPipeline<Config> pipeline, u32 rank) {
  if (args.full.base.early == 0) ptx::grid_dependency_wait();
  typename StreamSizes<Config>::Type sizes = StreamSizes<Config>::read(args);
  StreamWork<Config> work(args, sizes);
  StreamItem item;
  bool filled = false;
  while (work.next(&item)) {
    const GemmTileOrigin tile = stream_tile<Config>(args, sizes, item.unit, rank);
    const StreamMaps<Config> maps(args, tile.z);
    i32 block = item.begin;
    if (!filled) block = stream_fill<Config, kHalves>(args, pipeline, maps, item, tile, rank);
    filled = true;
#pragma unroll 1
    for (; block < item.end; ++block) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage),
                                  args.full.base.stage_bytes);
      stream_load<Config, kHalves>(args, pipeline, maps, tile, block * Config::kTileK, rank,
                                   kGemmOperandBoth);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(pipeline);
}

}  // namespace tw
