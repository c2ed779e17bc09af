// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer warp of the stream-K kernels. It loads the tile's rows of A and the `width` columns
// of B that the run's tiles have (GemmStreamArgs). kHalves: A's rows have a gate of halves
// (gemm_full.h), so that each half of A gives half of a tile's rows.

#include "kernels/gemm/wgmma/full_begin.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"

namespace tw {

// The tensor maps of A and B for matrix z of the batch.
template <class Config>
struct StreamMaps {
  const KernelMap *a, *b;
  i32 a_index, b_index;  // index in the batch dimension

  __device__ __forceinline__ StreamMaps(const GemmStreamArgs& args, i32 z) {
    if constexpr (Config::kFull) {
      const GemmProductMaps maps = gemm_product_maps(args.full, z);
      a = maps.a, b = maps.b, a_index = maps.a_index, b_index = maps.b_index;
      if (args.full.maps == 0) return;
      // An earlier kernel wrote these maps to global memory (gemm_pointers.h).
      ptx::tensormap_acquire(a);
      ptx::tensormap_acquire(b);
    } else {
      a = &args.full.base.map_a, b = &args.full.base.map_b, a_index = b_index = 0;
    }
  }
};

// Loads this CTA's share of one operand's k block into shared memory at `to`. `lines` are the rows
// of A or the columns of B in a tile, and `first` is the first of them. 2^sharers_log CTAs need
// these lines, and `share` is this CTA's number among them. If the operand is contiguous along k, a
// share is a part of the lines. Otherwise it is a part of the k block's rows, in boxes of 64 lines.
// load(to, x, y) loads a box.
template <class Config, bool kAlongK, class Load>
__device__ __forceinline__ void stream_load_share(u32 to, i32 lines, i32 first, i32 k, u32 share,
                                                  u32 sharers_log, Load load) {
  if constexpr (kAlongK) {
    const u32 line = share * (static_cast<u32>(lines) >> sharers_log);
    load(to + line * 128, k, first + static_cast<i32>(line));
  } else {
    const u32 row = share * (static_cast<u32>(Config::kTileK) >> sharers_log);
#pragma unroll 1
    for (i32 box = 0; box * 64 < lines; ++box)
      load(to + row * 128 + static_cast<u32>(box) * (Config::kTileK * 128), first + box * 64,
           k + static_cast<i32>(row));
  }
}

// Loads this CTA's share of A's k block with a gate of halves. Each 64 rows of the tile consist of
// 32 gate rows and the 32 value rows that belong to them, and a box has at most 32 rows.
template <class Config, class Load>
__device__ __forceinline__ void stream_load_halves(const GemmStreamArgs& args, u32 to, i32 m0,
                                                   i32 k, u32 share, u32 sharers_log, Load load) {
  const i32 part = Config::kTileM >> sharers_log;
  const i32 begin = static_cast<i32>(share) * part;
#pragma unroll 1
  for (i32 line = begin; line < begin + part; line += 32)
    load(to + static_cast<u32>(line) * 128, k,
         full_line(args.full, m0 + line / 64 * 64, line % 64, 64));
}

// Loads this CTA's shares of A's and B's k block, with multicast if another CTA needs them too.
template <class Config, bool kHalves>
__device__ __forceinline__ void stream_load_shares(const GemmStreamArgs& args,
                                                   const GemmPipeline<Config>& pipeline,
                                                   const StreamMaps<Config>& maps,
                                                   const StreamCluster& cluster,
                                                   const GemmTileOrigin& tile, i32 k,
                                                   u32 operands) {
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  const auto loader = [&](const KernelMap* map, i32 z, u32 sharers_log, u32 mask) {
    return [=](u32 to, i32 x, i32 y) {
      if constexpr (Config::kFull) {
        if (sharers_log == 0)
          ptx::load_tile(to, map, barrier, x, y, z);
        else
          ptx::load_tile_multicast(to, map, barrier, x, y, z, mask);
      } else {
        if (sharers_log == 0)
          ptx::load_tile(to, map, barrier, x, y);
        else
          ptx::load_tile_multicast(to, map, barrier, x, y, mask);
      }
    };
  };
  if (operands & kGemmOperandA) {
    const auto load = loader(maps.a, maps.a_index, cluster.log_n, cluster.mask_a);
    if constexpr (kHalves)
      stream_load_halves<Config>(args, pipeline.a(), tile.m0, k, cluster.rank_n, cluster.log_n,
                                 load);
    else
      stream_load_share<Config, !Config::kColumnA>(pipeline.a(), Config::kTileM, tile.m0, k,
                                                   cluster.rank_n, cluster.log_n, load);
  }
  if (operands & kGemmOperandB)
    stream_load_share<Config, !Config::kRowB>(
        pipeline.b(), args.width, tile.n0, k, cluster.rank_m, cluster.log_m,
        loader(maps.b, maps.b_index, cluster.log_m, cluster.mask_b));
}

// Loads B's k block without multicast.
template <class Config>
__device__ __forceinline__ void stream_load_b(const GemmStreamArgs& args,
                                              const GemmPipeline<Config>& pipeline,
                                              const StreamMaps<Config>& maps, i32 n0, i32 k) {
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  stream_load_share<Config, !Config::kRowB>(
      pipeline.b(), args.width, n0, k, 0, 0, [&](u32 to, i32 x, i32 y) {
        if constexpr (Config::kFull)
          ptx::load_tile(to, maps.b, barrier, x, y, maps.b_index);
        else
          ptx::load_tile(to, maps.b, barrier, x, y);
      });
}

// Loads A's k block in a kernel for narrow types. With a gate of halves, each 64 rows of the tile
// consist of 32 gate rows and the 32 value rows that belong to them, and a box has 32 rows. The
// gate is tested for each k block, since a separate loop would need more registers.
template <class Config>
__device__ __forceinline__ void stream_load_narrow(const GemmStreamArgs& args,
                                                   const GemmPipeline<Config>& pipeline,
                                                   const StreamMaps<Config>& maps, i32 m0, i32 k) {
  const i32 box_lines = args.full.gate == kGateHalves ? 32 : Config::kTileM;
#pragma unroll 1
  for (i32 line = 0; line < Config::kTileM; line += box_lines)
    ptx::load_tile(pipeline.a() + static_cast<u32>(line) * 128, maps.a,
                   pipeline.full_barrier(pipeline.stage), k,
                   full_line(args.full, m0 + line / 64 * 64, line % 64, 64), maps.a_index);
}

// Loads one k block of the operands in `operands` (kGemmOperand bits).
template <class Config, bool kHalves>
__device__ __forceinline__ void stream_load(const GemmStreamArgs& args,
                                            const GemmPipeline<Config>& pipeline,
                                            const StreamMaps<Config>& maps,
                                            const StreamPlace<Config>& place,
                                            const GemmTileOrigin& tile, i32 k, u32 operands) {
  if constexpr (Config::kNarrow) {
    if (operands & kGemmOperandA) stream_load_narrow<Config>(args, pipeline, maps, tile.m0, k);
  } else if constexpr (Config::kAnyCluster) {
    return stream_load_shares<Config, kHalves>(args, pipeline, maps, place, tile, k, operands);
  } else {
    if (operands & kGemmOperandA)
      gemm_load_block<Config>(args.full.base, pipeline, {tile.m0, tile.n0}, k, 0, kGemmOperandA);
  }
  if (operands & kGemmOperandB) stream_load_b<Config>(args, pipeline, maps, tile.n0, k);
}

// Fills the stages with the first item's k blocks. With PDL, the operands in args.full.base.early
// are loaded before the predecessor grids have ended, and the others after that. Returns the next k
// block.
template <class Config, bool kHalves>
__device__ __forceinline__ i32 stream_fill(const GemmStreamArgs& args,
                                           GemmPipeline<Config>& pipeline,
                                           const StreamMaps<Config>& maps,
                                           const StreamPlace<Config>& place, const StreamItem& item,
                                           const GemmTileOrigin& tile) {
  const i32 end = min(item.end, item.begin + pipeline.stages());
  const u32 early = args.full.base.early;
  const u32 first_operands = early == 0 ? u32{kGemmOperandBoth} : early;
  GemmPipeline<Config> refilled = pipeline;  // a second pass over the same stages
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.full.base.stage_bytes);
    stream_load<Config, kHalves>(args, pipeline, maps, place, tile, block * Config::kTileK,
                                 first_operands);
    pipeline.advance();
  }
  if (early == 0) return end;
  ptx::grid_dependency_wait();
#pragma unroll 1
  for (i32 block = item.begin; block < end; ++block) {
    stream_load<Config, kHalves>(args, refilled, maps, place, tile, block * Config::kTileK,
                                 early ^ kGemmOperandBoth);
    refilled.advance();
  }
  return end;
}

// Loads all items of the CTA. If args.full.base.early is set, sizes are read before the predecessor
// grids have ended. This is safe: either no size is in device memory, or the only such grid is the
// staging copy, which starts after all earlier grids have ended and writes no sizes.
template <class Config, bool kHalves>
__device__ __forceinline__ void stream_produce(const GemmStreamArgs& args,
                                               GemmPipeline<Config> pipeline, u32 rank) {
  if (args.full.base.early == 0) ptx::grid_dependency_wait();
  typename StreamSizes<Config>::Type sizes = StreamSizes<Config>::read(args);
  const StreamPlace<Config> place(args, rank);
  StreamWork<Config> work(args, sizes);
  StreamItem item;
  bool filled = false;
  while (work.next(&item)) {
    const GemmTileOrigin tile = stream_tile<Config>(args, sizes, item.unit, rank);
    const StreamMaps<Config> maps(args, tile.z);
    i32 block = item.begin;
    if (!filled) block = stream_fill<Config, kHalves>(args, pipeline, maps, place, item, tile);
    filled = true;
#pragma unroll 1
    for (; block < item.end; ++block) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage),
                                  args.full.base.stage_bytes);
      stream_load<Config, kHalves>(args, pipeline, maps, place, tile, block * Config::kTileK,
                                   kGemmOperandBoth);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
  if (stream_shares_loads<Config>(args)) gemm_wait_all_released<Config>(pipeline);
}

}  // namespace tw
