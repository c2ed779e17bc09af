// SPDX-License-Identifier: Apache-2.0
// Kernels that run many copies of one shape.
#include "kernels/common/emit.cuh"
#include "kernels/common/row_tiles.cuh"
#include "kernels/copies/copies.h"
#include "kernels/ptx/reduce.cuh"

namespace tw {

__device__ __forceinline__ u64 listed_address(u64 list, u64 pair) {
  return ptx::load_unit_cached<8>(list + pair * 8);
}

__device__ __forceinline__ CopiesTile copies_tile(const CopiesArgs& args, u64 number) {
  return copies_tile(args, number, [](u64 list, u64 pair) { return listed_address(list, pair); });
}

// The choice between bulk copies and ordinary loads depends on the tile, so it is warp-uniform.
struct CopiesMover {
  const CopiesArgs& args;

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) const {
    const RowTile rows = copies_tile(args, item).rows;
    if (tile_suits_bulk(rows))
      load_tile(rows, stage, barrier, ptx::kEvictNormal);
    else if (ptx::lane_id() == 0)
      ptx::mbarrier_arrive_expect(barrier, 0);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    const CopiesTile tile = copies_tile(args, item);
    if (tile_suits_bulk(tile.rows))
      store_tile(tile.rows, 0, tile.rows.rows, stage, ptx::kEvictNormal);
    else
      copy_tile_pieces(tile.rows, tile.read_low, tile.read_high);
  }
};

__device__ __forceinline__ void copies_bulk(const CopiesArgs& args) {
  CopiesMover mover{args};
  run_tile_pipeline(mover, args.cut, args.block_items, args.stages, args.stage_bytes);
}

__device__ __forceinline__ void copies_plain(const CopiesArgs& args) {
  const WarpTiles tiles = warp_tiles(args.cut, args.block_items);
  for (u64 item = tiles.first; item < tiles.end; item += tiles.step) {
    const CopiesTile tile = copies_tile(args, item);
    copy_tile_pieces(tile.rows, tile.read_low, tile.read_high);
  }
}

__device__ __forceinline__ void copies_skipped(const CopiesArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kTilePlainThreads;
  u32 skipped = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * kTilePlainThreads + threadIdx.x; i < args.pairs;
       i += step)
    skipped += copies_pair(args, listed_address(args.src_list, i), listed_address(args.dst_list, i))
                   ? 0
                   : 1;
  skipped = __reduce_add_sync(0xffffffffu, skipped);
  if (ptx::lane_id() == 0 && skipped != 0)
    ptx::reduce_add_u64(args.invalid_count, static_cast<u64>(skipped));
}

}  // namespace tw

#define TW_COPIES_BULK(feature, part, symbol)                                      \
  TW_EMIT(                                                                         \
      feature, part,                                                               \
      extern "C" __global__ void __launch_bounds__(tw::kTilePipelineWarps * 32, 1) \
          symbol(const __grid_constant__ tw::CopiesArgs args) { tw::copies_bulk(args); })
#define TW_COPIES_PLAIN(feature, part, symbol)                               \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kTilePlainThreads, 2) \
          symbol(const __grid_constant__ tw::CopiesArgs args) { tw::copies_plain(args); })
#define TW_COPIES_SKIPPED(feature, part, symbol)                             \
  TW_EMIT(                                                                   \
      feature, part,                                                         \
      extern "C" __global__ void __launch_bounds__(tw::kTilePlainThreads, 4) \
          symbol(const __grid_constant__ tw::CopiesArgs args) { tw::copies_skipped(args); })
#include "kernels/copies/kernels.inc"
