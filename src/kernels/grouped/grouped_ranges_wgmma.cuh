// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products whose groups are ranges of k, on Hopper: D[g] = alpha * A_g^T B_g + beta * D[g],
// where A_g and B_g are the rows of A (k x m) and B (k x n) that belong to group g. The kernels use
// swap-AB, as in grouped_wgmma.cuh: in Config, M stands for columns of B and D, and N for rows of
// D.
//
// Persistent blocks process whole tiles. Tiles of one group take equally long, and each block has
// tiles of every group, so that ranges of different lengths still keep all blocks busy.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/grouped/grouped_wgmma.cuh"

namespace tw {

struct RangesTile {
  i32 group, begin, end;  // the group and its range of k
  i32 column0, row0;      // first column and first row in D
};

/// The tiles of each D. full_unit() reads the first three fields.
struct RangesTiles {
  i32 units_m, units_n, band;
  GroupedWidth width;

  template <class Config>
  static __device__ __forceinline__ RangesTiles make(const GroupedArgs& args) {
    const GroupedRowTiles row_tiles = grouped_row_tiles(args.m);
    return {(args.n + Config::kTileM - 1) / Config::kTileM, row_tiles.count, args.band,
            grouped_width(row_tiles.width)};
  }
  /// Number of tiles of all D.
  __device__ __forceinline__ i32 count(const GroupedArgs& args) const {
    return units_m * units_n * args.group_count;
  }
  template <class Config>
  __device__ __forceinline__ RangesTile get(const GroupedArgs& args, i32 index) const {
    RangesTile tile;
    i32 in_group, unit_m, unit_n;
    tile.group = full_divide(index, units_m * units_n, &in_group);
    const GroupRows range = grouped_rows(args, tile.group, args.k);
    // With alpha 0 no operand may be read.
    tile.begin = range.begin, tile.end = args.alpha == 0.0f ? range.begin : range.end;
    full_unit(*this, in_group, &unit_m, &unit_n);
    tile.column0 = unit_m * Config::kTileM;
    tile.row0 = unit_n * width.width;
    return tile;
  }
};

template <class Config>
__device__ __forceinline__ void ranges_produce(const GroupedArgs& args, const RangesTiles& tiles,
                                               GemmPipeline<Config> pipeline) {
  const i32 boxes = (tiles.width.width + 63) / 64;
  const u32 bytes = Config::kShared.a_bytes + static_cast<u32>(boxes) * (Config::kTileK * 128);
  for (auto unit = static_cast<i32>(ptx::reread_block_id()); unit < tiles.count(args);
       unit += static_cast<i32>(ptx::reread_grid_size())) {
    const RangesTile tile = tiles.get<Config>(args, unit);
#pragma unroll 1
    for (i32 k = tile.begin; k < tile.end; k += Config::kTileK) {
      const u32 barrier = pipeline.full_barrier(pipeline.stage);
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(barrier, bytes);
#pragma unroll
      for (i32 box = 0; box < Config::kTileM / 64; ++box)
        ptx::load_tile(pipeline.a() + static_cast<u32>(box) * (Config::kTileK * 128), &args.map_b,
                       barrier, tile.column0 + box * 64, k);
#pragma unroll 1
      for (i32 box = 0; box < boxes; ++box)
        ptx::load_tile(pipeline.b() + static_cast<u32>(box) * (Config::kTileK * 128),
                       &args.map_a[0], barrier, tile.row0 + box * 64, k);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
}

// Zeroes the rows of both operands in the current stage that belong to the next group, because an
// infinity in one operand times a zero in the other would be NaN. All consumer threads call it.
template <class Config>
__device__ __forceinline__ void ranges_clear_tail(const GemmPipeline<Config>& pipeline, i32 boxes,
                                                  i32 rows) {
  using Consumers = StreamConsumers<Config>;
  ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
  const i32 pieces = (Config::kTileK - rows) * 8;  // of 16 bytes, in each box
  const i32 all_pieces = (Config::kTileM / 64 + boxes) * pieces;
#pragma unroll 1
  for (auto i = static_cast<i32>(Consumers::thread()); i < all_pieces;
       i += static_cast<i32>(Consumers::kThreads)) {
    const i32 box = i / pieces;
    const u32 to = pipeline.a() + static_cast<u32>(box) * (Config::kTileK * 128) +
                   static_cast<u32>(rows * 8 + i - box * pieces) * 16;
    ptx::shared_store<16>(to, make_uint4(0, 0, 0, 0));
  }
  ptx::fence_async_shared();
  Consumers::sync();
}

// Multiplies a range of k in accumulation chains of at most args.chain_blocks k blocks. The chains
// are added up in the workspace, at `partial`.
template <class Config>
__device__ __forceinline__ void ranges_accumulate(
    float (&d)[Config::kRowBlocks][Config::kAccumulators], const GroupedArgs& args,
    const RangesTiles& tiles, i32 k, const StreamPartial<Config>& partial,
    GemmPipeline<Config>& pipeline, u32 group) {
  const i32 blocks = (k + Config::kTileK - 1) / Config::kTileK;
  const i32 whole_blocks = k / Config::kTileK;
  const auto multiply = [&](i32 begin, i32 end, u32 accumulate) {
    gemm_multiply<Config>(
        d, {begin * Config::kTileK, end * Config::kTileK}, pipeline, group, accumulate, nullptr,
        [] {}, tiles.width.index);
    gemm_wait_products<Config>(d);
    gemm_release<Config>(pipeline, (pipeline.stage == 0 ? pipeline.stages() : pipeline.stage) - 1);
  };
  gemm_clear_accumulators<Config>(d);
#pragma unroll 1
  for (i32 begin = 0; begin < blocks; begin += args.chain_blocks) {
    const i32 end = min(begin + args.chain_blocks, blocks);
    const i32 middle = min(end, whole_blocks);
    gemm_clear_accumulators<Config>(d);
    if (begin < middle) multiply(begin, middle, 0);
    if (middle < end) {
      ranges_clear_tail<Config>(pipeline, (tiles.width.width + 63) / 64,
                                k - whole_blocks * Config::kTileK);
      multiply(middle, end, 1);
    }
    if (begin > 0) partial.add_to(d[0]);
    if (end < blocks) partial.store(d[0]);
  }
}

template <class Config>
__device__ __forceinline__ void ranges_consume(const GroupedArgs& args, const RangesTiles& tiles,
                                               GemmPipeline<Config> pipeline, u32 group) {
  using Slab = StreamSumSlab<Config>;
  constexpr u32 kThreadsPerRow = Slab::kLineAccumulators / 8;  // a line is in a row of D
  const u32 staging = pipeline.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  const auto block = static_cast<i32>(ptx::reread_block_id());
  const struct {
    u64 workspace;
    u32 partials_offset;
    i32 width;
  } stream_args = {args.workspace, args.partials_offset, tiles.width.width};
  const StreamPartial<Config> partial(stream_args, block, 0, 0);
  const u32 slab_column = threadIdx.x % kThreadsPerRow * 8;
  float d[Config::kRowBlocks][Config::kAccumulators];
  for (i32 unit = block; unit < tiles.count(args);
       unit += static_cast<i32>(ptx::reread_grid_size())) {
    const RangesTile tile = tiles.get<Config>(args, unit);
    if (tile.begin == tile.end && args.beta == 1.0f) continue;
    ranges_accumulate<Config>(d, args, tiles, tile.end - tile.begin, partial, pipeline, group);
    const i32 column = tile.column0 + static_cast<i32>(group * 64 + slab_column);
    const u64 row0 = args.d + static_cast<u64>((tile.group * args.d_stride + column) * 4);
    grouped_each_staged_row<Config>(
        d[0], tile.row0, min(tile.row0 + tiles.width.width, args.m), kThreadsPerRow, staging, group,
        [&](const Slab& staged, u32 line, i32 r) {
          if (column >= args.n) return;
          float v[8];
          staged.get(line, slab_column, v);
          ranges_write_eight(args, row0 + static_cast<u64>(r * args.d_pitch * 4), args.n - column,
                             v);
        });
  }
}

template <class Config>
__device__ __forceinline__ void grouped_ranges_wgmma(const GroupedArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const RangesTiles tiles = RangesTiles::make<Config>(args);
  const u32 boxes = static_cast<u32>((tiles.width.width + 63) / 64);
  pipeline.set(Config::kShared.a_bytes + boxes * (Config::kTileK * 128), false);
  if (warp == 0) grouped_init_barriers<Config>(args, pipeline, args.a_rows != 0);
  ptx::grid_dependency_wait();
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kConsumer>();
    ranges_consume<Config>(args, tiles, pipeline, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kProducer>();
    if (warp == 0 && ptx::elect_one()) ranges_produce<Config>(args, tiles, pipeline);
  }
}

}  // namespace tw
