// SPDX-License-Identifier: Apache-2.0
// Kernels that pad and unpad sequences.
#include "kernels/common/emit.cuh"
#include "kernels/common/row_tiles.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/ragged/ragged.h"
#include "kernels/rows/row_index.cuh"

namespace tw {

__device__ __forceinline__ RowTile ragged_tile(const RaggedArgs& args, u64 number) {
  return ragged_tile(args, number,
                     [&](u64 i) { return load_index(args.offsets, args.offset_bytes, i); });
}

struct RaggedMover {
  const RaggedArgs& args;

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) const {
    const RowTile tile = ragged_tile(args, item);
    load_tile(tile, stage, barrier, ptx::kEvictNormal);
    if (args.unpad != 0) return;
    fill_stage(stage, stage + tile.begin * tile.bytes);
    fill_stage(stage + tile.end * tile.bytes, stage + tile.rows * tile.bytes);
  }

  __device__ __forceinline__ void fill_stage(u32 from, u32 to) const {
    const uint4 words = make_uint4(args.fill, args.fill, args.fill, args.fill);
    for (u32 at = from + ptx::lane_id() * 16; at < to; at += 32 * 16)
      ptx::shared_store<16>(at, words);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    const RowTile tile = ragged_tile(args, item);
    // Threads wrote the fill, so the async proxy needs a fence before the bulk store reads it.
    ptx::fence_async_shared();
    ptx::sync_warp();
    if (args.unpad != 0)
      store_tile(tile, tile.begin, tile.end, stage, ptx::kEvictNormal);
    else
      store_tile(tile, 0, tile.rows, stage, ptx::kEvictNormal);
  }
};

__device__ __forceinline__ void ragged_bulk(const RaggedArgs& args) {
  RaggedMover mover{args};
  run_tile_pipeline(mover, args.cut, args.block_items, args.stages, args.stage_bytes);
}

__device__ __forceinline__ void ragged_plain(const RaggedArgs& args) {
  const WarpTiles tiles = warp_tiles(args.cut, args.block_items);
  for (u64 item = tiles.first; item < tiles.end; item += tiles.step) {
    const RowTile tile = ragged_tile(args, item);
    if (tile.begin != tile.end) copy_tile_pieces(moved_rows(tile), args.read_low, args.read_high);
    if (args.unpad != 0) continue;
    if (tile.begin != 0) fill_tile_pieces(unmoved_rows(tile, 0, tile.begin), args.fill);
    if (tile.end != tile.rows) fill_tile_pieces(unmoved_rows(tile, tile.end, tile.rows), args.fill);
  }
}

__device__ __forceinline__ void ragged_count_invalid(const RaggedArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kTilePlainThreads;
  u32 count = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * kTilePlainThreads + threadIdx.x; i < args.batch;
       i += step) {
    const i64 begin = load_index(args.offsets, args.offset_bytes, i);
    const i64 end = load_index(args.offsets, args.offset_bytes, i + 1);
    count += checked_sequence(begin, end, args.tokens).invalid ? 1 : 0;
  }
  count = __reduce_add_sync(0xffffffffu, count);
  if (ptx::lane_id() == 0 && count != 0)
    ptx::reduce_add_u64(args.invalid_count, static_cast<u64>(count));
}

}  // namespace tw

#define TW_RAGGED_BULK(feature, part, symbol)                                      \
  TW_EMIT(                                                                         \
      feature, part,                                                               \
      extern "C" __global__ void __launch_bounds__(tw::kTilePipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::RaggedArgs args) { tw::ragged_bulk(args); })
#define TW_RAGGED_PLAIN(feature, part, symbol)                               \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kTilePlainThreads, 2) \
          symbol(const __grid_constant__ tw::RaggedArgs args) { tw::ragged_plain(args); })
#define TW_RAGGED_COUNT_INVALID(feature, part, symbol)                       \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kTilePlainThreads, 4) \
          symbol(const __grid_constant__ tw::RaggedArgs args) { tw::ragged_count_invalid(args); })
#include "kernels/ragged/kernels.inc"
