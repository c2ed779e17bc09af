// SPDX-License-Identifier: Apache-2.0
#pragma once
// What gathers and scatters have in common if each warp has a pipeline (common/warp_ring.cuh). Rows
// are cut into pieces. A stage of the pipeline holds one item: stage_pieces consecutive pieces, of
// which each lane handles up to kRowsPiecesPerLane. RowPieces has a lane's pieces with their table
// rows and weights; the movers of gather and scatter derive from it. An item is named by the number
// of its first piece.

#include "kernels/common/warp_ring.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/rows/row_index.cuh"

namespace tw {

struct RowPieces {
  const RowsArgs& args;
  u64 total;                              // pieces of the run
  i64 next_row[kRowsPiecesPerLane];       // row of the table for the item that is loaded next
  float next_weight[kRowsPiecesPerLane];  // 0 if the index has no row

  explicit __device__ __forceinline__ RowPieces(const RowsArgs& a)
      : args(a), total(total_pieces(a, run_count(a))) {}

  __device__ __forceinline__ u32 slot(u32 k) const { return ptx::lane_id() + 32 * k; }
  /// The lane's k-th piece of an item.
  __device__ __forceinline__ RowPiece piece(u64 item, u32 k) const {
    if (slot(k) >= args.stage_pieces) return {0, 0, 0, 0};
    return row_piece(args, item + slot(k), total);
  }

  /// Reads the indices of an item one iteration early, to hide their latency.
  template <bool kWeights>
  __device__ __forceinline__ void fetch(u64 item) {
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      next_row[k] = kNoRow;
      if constexpr (kWeights) next_weight[k] = 0.0f;
      if (32 * k >= args.stage_pieces) continue;
      const RowPiece p = piece(item, k);
      if (p.bytes == 0) continue;
      next_row[k] = table_row_of(args, p.index_number);
      if constexpr (kWeights)
        if (next_row[k] != kNoRow) next_weight[k] = index_weight(args, p.index_number);
    }
  }

  __device__ __forceinline__ u64 table_address(i64 row, const RowPiece& p) const {
    return args.table + static_cast<u64>(row * args.table_pitch) + p.offset;
  }
  __device__ __forceinline__ u64 packed_address(const RowPiece& p) const {
    return args.packed + static_cast<u64>(static_cast<i64>(p.packed_row) * args.packed_pitch) +
           p.offset;
  }
  /// Number of pieces of an item; fewer in the last one.
  __device__ __forceinline__ u32 pieces_of(u64 item) const {
    const u64 left = total - item;
    return left < args.stage_pieces ? static_cast<u32>(left) : args.stage_pieces;
  }
  /// Address of an item's first row in the packed operand, if its rows are contiguous (args.dense).
  __device__ __forceinline__ u64 dense_address(u64 item) const {
    return args.packed + packed_row_of(args, item) * args.part_bytes;
  }

  // In shared memory, a stage's pieces are followed by 8 bytes for the table row number of each
  // piece and then by 4 bytes for each weight. `stage` is the shared address of the stage; the
  // result is the shared address of the number.
  __device__ __forceinline__ u32 row_note(u32 stage, u32 piece_slot) const {
    return stage + args.stage_bytes + piece_slot * 8;
  }
  __device__ __forceinline__ u32 weight_note(u32 stage, u32 piece_slot) const {
    return stage + args.stage_bytes + args.stage_pieces * 8 + piece_slot * 4;
  }
};

/// Runs the whole launch. If args.block_items is 0, the warps of the grid take items in turn.
/// Otherwise each block has that many consecutive items, which its warps take in turn.
template <class Mover>
__device__ __forceinline__ void run_row_pipeline(const RowsArgs& args, u32 stage_bytes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const WarpPipeline pipeline =
      make_warp_pipeline(shared, args.stages, stage_bytes, Mover::kArrivals);
  Mover mover(args);
  const u32 warps = blockDim.x / 32;
  u64 first_item = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  u64 step = static_cast<u64>(gridDim.x) * warps * args.stage_pieces;  // in pieces, like `end`
  u64 end = mover.total;
  if (args.block_items != 0) {
    const u64 begin = static_cast<u64>(blockIdx.x) * args.block_items;
    first_item = begin + threadIdx.x / 32;
    step = static_cast<u64>(warps) * args.stage_pieces;
    end = min(end, (begin + args.block_items) * args.stage_pieces);
  }
  const u64 first = first_item * args.stage_pieces;
  mover.step = step;
  mover.template fetch<Mover::kWeights>(first);
  run_warp_pipeline(pipeline, mover, first, end, step);
}

}  // namespace tw
