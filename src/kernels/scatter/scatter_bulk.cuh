// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scatter by bulk loads from the packed side into a warp's ring, and per-row bulk stores.

#include "kernels/parts/row_ring.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

struct ScatterMover : RowPieces {
  u64 step = 0;
  explicit __device__ __forceinline__ ScatterMover(const ScatterArgs& a) : RowPieces(a) {}

  // Row numbers lie behind the stage's pieces; each is written and read by the same lane.
  __device__ __forceinline__ u32 note(u32 stage, u32 slot) const {
    return stage + args.stage_bytes + slot * 8;
  }

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    u32 bytes = 0;
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const Piece p = piece(item, k);
      if (p.slot < args.stage_pieces)
        ptx::shared_store<8>(note(stage, p.slot), static_cast<u64>(next_row[k]));
      if (next_row[k] != kNoRow) bytes += p.bytes;
    }
    bytes = __reduce_add_sync(0xffffffffu, bytes);
    if (args.dense && bytes != 0) bytes = dense_bytes(item);
    if (ptx::lane_id() == 0) {
      ptx::mbarrier_arrive_expect(barrier, bytes);
      if (args.dense && bytes != 0) ptx::load_bulk(stage, dense_address(item), bytes, barrier);
    }
    __syncwarp();
    if (!args.dense) {
#pragma unroll
      for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
        if (next_row[k] == kNoRow) continue;
        const Piece p = piece(item, k);
        ptx::load_bulk(stage + p.slot * args.part_bytes, packed_address(p), p.bytes, barrier);
      }
    }
    fetch(item + step);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const Piece p = piece(item, k);
      if (p.bytes == 0) continue;
      const i64 row = static_cast<i64>(ptx::shared_load<8>(note(stage, p.slot)));
      if (row != kNoRow)
        ptx::store_bulk(table_address(row, p), stage + p.slot * args.part_bytes, p.bytes);
    }
  }
};

__device__ __forceinline__ void scatter_bulk(const ScatterArgs& args) {
  run_row_ring<ScatterMover>(args, args.stage_bytes + rows_note_bytes(args.stage_pieces));
}

}  // namespace tw
