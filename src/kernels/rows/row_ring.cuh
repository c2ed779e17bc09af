// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the gather and scatter movers of a warp ring share: which piece a lane serves, its index
// and its weight.

#include "kernels/common/warp_ring.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/rows/row_index.cuh"

namespace tw {

struct RowPieces {
  const RowsArgs& args;
  u64 total;                             // pieces of the run
  i64 next_row[kRowsPiecesOfLane];       // of the table, for the item that will be loaded next
  float next_weight[kRowsPiecesOfLane];  // zero where no row is named

  explicit __device__ __forceinline__ RowPieces(const RowsArgs& a)
      : args(a), total(total_pieces(a, run_count(a))) {}

  /// The lane's k-th piece of an item: of the `stage_pieces` pieces from number `item` on.
  __device__ __forceinline__ u32 slot(u32 k) const { return ptx::lane_id() + 32 * k; }
  __device__ __forceinline__ RowPiece piece(u64 item, u32 k) const {
    if (slot(k) >= args.stage_pieces) return {0, 0, 0, 0};
    return row_piece(args, item + slot(k), total);
  }

  /// Reads the indices of an item early, so that their latency hides behind the one before.
  template <bool kWeights>
  __device__ __forceinline__ void fetch(u64 item) {
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      next_row[k] = kNoRow;
      if constexpr (kWeights) next_weight[k] = 0.0f;
      if (32 * k >= args.stage_pieces) continue;
      const RowPiece p = piece(item, k);
      if (p.bytes == 0) continue;
      next_row[k] = named_row(args, p.index);
      if constexpr (kWeights)
        if (next_row[k] != kNoRow) next_weight[k] = index_weight(args, p.index);
    }
  }

  __device__ __forceinline__ u64 table_address(i64 row, const RowPiece& p) const {
    return args.table + static_cast<u64>(row * args.table_pitch) + p.offset;
  }
  __device__ __forceinline__ u64 packed_address(const RowPiece& p) const {
    return args.packed + static_cast<u64>(static_cast<i64>(p.row) * args.packed_pitch) + p.offset;
  }
  /// Real pieces of an item.
  __device__ __forceinline__ u32 pieces_of(u64 item) const {
    const u64 left = total - item;
    return left < args.stage_pieces ? static_cast<u32>(left) : args.stage_pieces;
  }
  /// Where an item's rows begin on a dense packed side.
  __device__ __forceinline__ u64 dense_address(u64 item) const {
    return args.packed + packed_row_of(args, item) * args.part_bytes;
  }

  // Behind the stage's pieces: their rows of the table, then their weights.
  __device__ __forceinline__ u32 row_note(u32 stage, u32 piece_slot) const {
    return stage + args.stage_bytes + piece_slot * 8;
  }
  __device__ __forceinline__ u32 weight_note(u32 stage, u32 piece_slot) const {
    return stage + args.stage_bytes + args.stage_pieces * 8 + piece_slot * 4;
  }
};

/// The whole launch: every warp runs its ring over every so many-th item as the grid has warps, or
/// as its block has of the block's own neighbours. Items number pieces.
template <class Mover>
__device__ __forceinline__ void run_row_ring(const RowsArgs& args, u32 stage_bytes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const WarpRing ring = make_warp_ring(shared, args.stages, stage_bytes, Mover::kArrivals);
  Mover mover(args);
  const u32 warps = blockDim.x / 32;
  u64 first = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  u64 step = static_cast<u64>(gridDim.x) * warps * args.stage_pieces;
  u64 end = mover.total;
  if (args.block_items != 0) {
    const u64 begin = static_cast<u64>(blockIdx.x) * args.block_items;
    first = begin + threadIdx.x / 32;
    step = static_cast<u64>(warps) * args.stage_pieces;
    end = min(end, (begin + args.block_items) * args.stage_pieces);
  }
  first *= args.stage_pieces;
  mover.step = step;
  mover.template fetch<Mover::kWeights>(first);
  run_warp_ring(ring, mover, first, end, step);
}

}  // namespace tw
