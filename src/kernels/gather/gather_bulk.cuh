// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gathers rows by one bulk load per row into a per-warp pipeline, and bulk stores to the packed
// operand. Weights and sums are applied in shared memory in between.

#include "kernels/gather/gather.h"
#include "kernels/rows/row_arithmetic.cuh"
#include "kernels/rows/row_ring.cuh"

namespace tw {

template <bool kSum>
struct GatherMover : RowPieces {
  static constexpr bool kWeights = kSum;
  static constexpr u32 kArrivals = 1;
  u64 step = 0;
  explicit __device__ __forceinline__ GatherMover(const GatherArgs& a) : RowPieces(a) {}

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    u32 bytes = 0;
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k)
      if (next_row[k] != kNoRow) bytes += piece(item, k).bytes;
    bytes = __reduce_add_sync(0xffffffffu, bytes);
    if (ptx::lane_id() == 0) ptx::mbarrier_arrive_expect(barrier, bytes);
    ptx::sync_warp();
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const RowPiece p = piece(item, k);
      const u32 to = stage + slot(k) * args.part_bytes;
      const bool named = next_row[k] != kNoRow;
      if (named)
        ptx::load_bulk_hint(to, ptx::global_pointer(table_address(next_row[k], p)), p.bytes,
                            barrier, args.read_policy);
      if constexpr (kSum)
        if (p.bytes != 0)
          ptx::shared_store<4>(weight_note(stage, slot(k)), __float_as_uint(next_weight[k]));
      write_zeros(to, named ? 0 : p.bytes);
    }
    fetch<kWeights>(item + step);
  }

  // The whole warp writes the zeros of each lane: `bytes` of them from `to` on.
  __device__ __forceinline__ void write_zeros(u32 to, u32 bytes) const {
    u32 lanes = __ballot_sync(0xffffffffu, bytes != 0);
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = __ffs(static_cast<int>(lanes)) - 1;
      const u32 from = __shfl_sync(0xffffffffu, to, lane);
      const u32 end = from + __shfl_sync(0xffffffffu, bytes, lane);
      for (u32 at = from + ptx::lane_id() * 16; at < end; at += 32 * 16)
        ptx::shared_store<16>(at, {});
    }
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    u32 rows = pieces_of(item);
    if constexpr (kSum) {
      ptx::sync_warp();
      rows = packed_row_of(args, rows);
      sum_stage(args, stage, weight_note(stage, 0), rows);
    }
    // Threads wrote zeros and sums: the async proxy needs a fence before the bulk store reads them.
    ptx::fence_async_shared();
    ptx::sync_warp();
    if (args.dense) {
      if (ptx::lane_id() == 0)
        ptx::store_bulk_hint(ptx::global_pointer(dense_address(item)), stage,
                             rows * args.part_bytes, args.write_policy);
      return;
    }
    for (u32 at = ptx::lane_id(); at < rows; at += 32) {
      const RowPiece p = row_piece(args, item + at * args.group, total);
      ptx::store_bulk_hint(ptx::global_pointer(packed_address(p)), stage + at * args.part_bytes,
                           p.bytes, args.write_policy);
    }
  }
};

__device__ __forceinline__ void gather_bulk(const GatherArgs& args) {
  run_row_pipeline<GatherMover<false>>(args, args.stage_bytes);
}

__device__ __forceinline__ void gather_sum(const GatherArgs& args) {
  run_row_pipeline<GatherMover<true>>(args, args.stage_bytes + rows_note_bytes(args.stage_pieces));
}

}  // namespace tw
