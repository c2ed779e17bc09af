// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gather by per-row bulk loads into a warp's ring, and bulk stores to the packed side.

#include "kernels/gather/gather.h"
#include "kernels/parts/row_ring.cuh"

namespace tw {

struct GatherMover : RowPieces {
  u64 step = 0;
  explicit __device__ __forceinline__ GatherMover(const GatherArgs& a) : RowPieces(a) {}

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    u32 bytes = 0;
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k)
      if (next_row[k] != kNoRow) bytes += piece(item, k).bytes;
    bytes = __reduce_add_sync(0xffffffffu, bytes);
    if (ptx::lane_id() == 0) ptx::mbarrier_arrive_expect(barrier, bytes);
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const Piece p = piece(item, k);
      const u32 to = stage + p.slot * args.part_bytes;
      const bool named = next_row[k] != kNoRow;
      if (named) ptx::load_bulk(to, table_address(next_row[k], p), p.bytes, barrier);
      write_zeros(to, named ? 0 : p.bytes);
    }
    fetch(item + step);
  }

  // The whole warp writes the zeros of each lane that has `bytes` of them.
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
    // Zeros were written by plain stores, which the copy engine does not see by itself.
    ptx::fence_async_shared();
    __syncwarp();
    if (args.dense) {
      if (ptx::lane_id() == 0) ptx::store_bulk(dense_address(item), stage, dense_bytes(item));
      return;
    }
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      if (32 * k >= args.stage_pieces) continue;
      const Piece p = piece(item, k);
      if (p.bytes) ptx::store_bulk(packed_address(p), stage + p.slot * args.part_bytes, p.bytes);
    }
  }
};

__device__ __forceinline__ void gather_bulk(const GatherArgs& args) {
  run_row_ring<GatherMover>(args, args.stage_bytes);
}

}  // namespace tw
