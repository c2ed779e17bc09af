// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a warp moves a tile of rows: by TMA bulk copies through a stage of shared memory, or at any
// alignment by plain loads and stores, one 16-byte piece of the destination at a time.

#include "kernels/common/realign.cuh"
#include "kernels/common/row_tiles.h"
#include "kernels/common/warp_ring.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

inline constexpr int kTileFlight = 4;  // pieces that a lane loads before it stores them

/// Issues the bulk loads of the tile's moved rows, row r to stage + r * bytes. Arrives on the
/// barrier once with their number of bytes, which may be 0.
__device__ __forceinline__ void load_tile(const RowTile& tile, u32 stage, u32 barrier, u64 policy) {
  const u32 rows = tile.end - tile.begin;
  const u32 to = stage + tile.begin * tile.bytes;
  if (ptx::lane_id() == 0) ptx::mbarrier_arrive_expect(barrier, rows * tile.bytes);
  ptx::sync_warp();
  if (tile.src_pitch == tile.bytes) {
    if (ptx::lane_id() == 0 && rows != 0)
      ptx::load_bulk_hint(to, ptx::global_pointer(tile_src(tile, tile.begin)), rows * tile.bytes,
                          barrier, policy);
    return;
  }
  for (u32 row = ptx::lane_id(); row < rows; row += 32)
    ptx::load_bulk_hint(to + row * tile.bytes,
                        ptx::global_pointer(tile_src(tile, tile.begin + row)), tile.bytes, barrier,
                        policy);
}

/// Issues the bulk stores of rows `first` to `last` - 1 from the stage.
__device__ __forceinline__ void store_tile(const RowTile& tile, u32 first, u32 last, u32 stage,
                                           u64 policy) {
  if (tile.dst_pitch == tile.bytes) {
    if (ptx::lane_id() == 0 && first < last)
      ptx::store_bulk_hint(ptx::global_pointer(tile_dst(tile, first)), stage + first * tile.bytes,
                           (last - first) * tile.bytes, policy);
    return;
  }
  for (u32 row = first + ptx::lane_id(); row < last; row += 32)
    ptx::store_bulk_hint(ptx::global_pointer(tile_dst(tile, row)), stage + row * tile.bytes,
                         tile.bytes, policy);
}

/// Copies a tile returned by moved_rows(). Aligned loads stay inside [low, high); pieces at the
/// ends are copied byte by byte.
__device__ __forceinline__ void copy_tile_pieces(const RowTile& tile, u64 low, u64 high) {
  const u32 pieces = tile_pieces(tile);
  for (u32 first = ptx::lane_id(); first < pieces; first += 32 * kTileFlight) {
    Piece16 piece[kTileFlight];
    AlignedPair pair[kTileFlight];
    bool inside[kTileFlight];
    bool all_inside = true;
#pragma unroll
    for (int k = 0; k < kTileFlight; ++k) {
      const u32 number = first + 32 * static_cast<u32>(k);
      piece[k] = {0, 0, 0, 0};
      if (number < pieces) piece[k] = tile_piece(tile, number);
      inside[k] = aligned_loads_inside(piece[k].src, low, high);
      all_inside = all_inside && (inside[k] || piece[k].end == 0);
      pair[k] = {uint4{}, uint4{}};
      if (inside[k] && piece[k].end != 0) pair[k] = load_aligned(piece[k].src);
    }
#pragma unroll
    for (int k = 0; k < kTileFlight; ++k)
      if (inside[k] && piece[k].end != 0)
        store_part(piece[k].address, realign(pair[k], piece[k].src), piece[k].first, piece[k].end);
    if (all_inside) continue;
#pragma unroll 1
    for (int k = 0; k < kTileFlight; ++k) {
      const u32 number = first + 32 * static_cast<u32>(k);
      if (number >= pieces) break;
      const Piece16 edge = tile_piece(tile, number);
      if (edge.end != 0 && !aligned_loads_inside(edge.src, low, high)) copy_bytes(edge);
    }
  }
}

/// Fills a tile returned by unmoved_rows() with `word`.
__device__ __forceinline__ void fill_tile_pieces(const RowTile& tile, u32 word) {
  const u32 pieces = tile_pieces(tile);
  const Words4 words{{word, word, word, word}};
  for (u32 number = ptx::lane_id(); number < pieces; number += 32) {
    const Piece16 piece = tile_piece(tile, number);
    if (piece.end != 0) store_part(piece.address, words, piece.first, piece.end);
  }
}

/// A warp's tiles: first, first + step, ... below end. If `block_items` is 0, all warps of the grid
/// interleave; otherwise each block has `block_items` consecutive tiles.
struct WarpTiles {
  u64 first;
  u64 end;
  u64 step;
};
__device__ __forceinline__ WarpTiles warp_tiles(const TileCut& cut, u32 block_items) {
  const u32 warps = blockDim.x / 32;
  const u32 warp = threadIdx.x / 32;
  if (block_items == 0)
    return {static_cast<u64>(blockIdx.x) * warps + warp, cut.items,
            static_cast<u64>(gridDim.x) * warps};
  const u64 begin = static_cast<u64>(blockIdx.x) * block_items;
  return {begin + warp, min(cut.items, begin + block_items), warps};
}

/// Runs a mover (warp_ring.cuh) on all tiles of the calling warp.
template <class Mover>
__device__ __forceinline__ void run_tile_pipeline(Mover& mover, const TileCut& cut, u32 block_items,
                                                  u32 stages, u32 stage_bytes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const WarpPipeline pipeline = make_warp_pipeline(shared, stages, stage_bytes);
  const WarpTiles tiles = warp_tiles(cut, block_items);
  run_warp_pipeline(pipeline, mover, tiles.first, tiles.end, tiles.step);
}

}  // namespace tw
