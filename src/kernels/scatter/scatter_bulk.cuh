// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scatters rows by bulk loads from the packed operand into a per-warp pipeline, and one bulk store
// or reduction per row. Weights are applied in shared memory.

#include "kernels/rows/row_arithmetic.cuh"
#include "kernels/rows/row_ring.cuh"
#include "kernels/scatter/reduce_dispatch.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

template <bool kReduce>
struct ScatterMover : RowPieces {
  static constexpr bool kWeights = kReduce;
  static constexpr u32 kArrivals = 1;
  u64 step = 0;
  explicit __device__ __forceinline__ ScatterMover(const ScatterArgs& a) : RowPieces(a) {}

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    u32 bytes = 0;
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      if (slot(k) < args.stage_pieces) {
        // The same lane reads these notes in store().
        ptx::shared_store<8>(row_note(stage, slot(k)), static_cast<u64>(next_row[k]));
        if constexpr (kReduce)
          ptx::shared_store<4>(weight_note(stage, slot(k)), __float_as_uint(next_weight[k]));
      }
      if (next_row[k] != kNoRow) bytes += piece(item, k).bytes;
    }
    bytes = __reduce_add_sync(0xffffffffu, bytes);
    if (args.dense && bytes != 0) bytes = pieces_of(item) * args.part_bytes;
    if (ptx::lane_id() == 0) {
      ptx::mbarrier_arrive_expect(barrier, bytes);
      if (args.dense && bytes != 0)
        ptx::load_bulk_hint(stage, ptx::global_pointer(dense_address(item)), bytes, barrier,
                            args.read_policy);
    }
    ptx::sync_warp();
    if (!args.dense) {
#pragma unroll
      for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
        if (next_row[k] == kNoRow) continue;
        const RowPiece p = piece(item, k);
        ptx::load_bulk_hint(stage + slot(k) * args.part_bytes,
                            ptx::global_pointer(packed_address(p)), p.bytes, barrier,
                            args.read_policy);
      }
    }
    fetch<kWeights>(item + step);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    if constexpr (kReduce) {
      if (args.weights != 0) {
        ptx::sync_warp();
        sum_stage(args, stage, weight_note(stage, 0), pieces_of(item));
        ptx::fence_async_shared();
        ptx::sync_warp();
      }
    }
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const RowPiece p = piece(item, k);
      if (p.bytes == 0) continue;
      const i64 row = static_cast<i64>(ptx::shared_load<8>(row_note(stage, slot(k))));
      if (row == kNoRow) continue;
      const u32 from = stage + slot(k) * args.part_bytes;
      if constexpr (kReduce)
        reduce_bulk(args.op, args.element, table_address(row, p), from, p.bytes);
      else
        ptx::store_bulk_hint(ptx::global_pointer(table_address(row, p)), from, p.bytes,
                             args.write_policy);
    }
  }
};

__device__ __forceinline__ void scatter_bulk(const ScatterArgs& args) {
  run_row_pipeline<ScatterMover<false>>(args,
                                        args.stage_bytes + rows_note_bytes(args.stage_pieces));
}

__device__ __forceinline__ void scatter_bulk_reduce(const ScatterArgs& args) {
  run_row_pipeline<ScatterMover<true>>(args, args.stage_bytes + rows_note_bytes(args.stage_pieces));
}

}  // namespace tw
