// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the gather and scatter movers of a warp ring share: which piece a lane serves, and its
// index.

#include "kernels/parts/rows.h"
#include "kernels/parts/warp_ring.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

inline constexpr i64 kNoRow = -1;

struct RowPieces {
  const RowsArgs& args;
  i64 next_row[kRowsPiecesOfLane];  // of the table, for the item that will be loaded next

  explicit __device__ __forceinline__ RowPieces(const RowsArgs& a) : args(a) {}

  /// The lane's k-th piece of an item: of the `stage_pieces` pieces from number `item` on.
  struct Piece {
    u64 row;     // of the packed operand
    u64 offset;  // bytes into both rows
    u32 bytes;   // 0: there is none
    u32 slot;    // within the stage
  };
  __device__ __forceinline__ Piece piece(u64 item, u32 k) const {
    const u32 slot = ptx::lane_id() + 32 * k;
    const u64 number = item + slot;
    const bool real =
        slot < args.stage_pieces && number < static_cast<u64>(args.count) * args.parts;
    // Rows in parts are fewer than kDividerLimit parts together: the planner sees to it.
    const u64 row = args.parts == 1 ? number : divide(static_cast<u32>(number), args.part_divider);
    const u32 part = static_cast<u32>(number - row * args.parts);
    return {row, static_cast<u64>(part) * args.part_bytes,
            !real                    ? 0
            : part + 1 == args.parts ? args.last_bytes
                                     : args.part_bytes,
            slot};
  }

  /// Reads the indices of an item early, so that their latency hides behind the one before.
  __device__ __forceinline__ void fetch(u64 item) {
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesOfLane; ++k) {
      next_row[k] = kNoRow;
      if (32 * k >= args.stage_pieces) continue;
      const Piece p = piece(item, k);
      if (p.bytes == 0) continue;
      i64 row;
      if (args.index_bytes == 8)
        row = static_cast<i64>(ptx::load_unit_cached<8>(args.index + p.row * 8));
      else
        row = static_cast<i32>(ptx::load_unit_cached<4>(args.index + p.row * 4));
      // The range is checked at full width: no index narrows onto a row.
      if (row >= 0 && row < args.table_rows) next_row[k] = row;
    }
  }

  __device__ __forceinline__ u64 table_address(i64 row, const Piece& p) const {
    return args.table + static_cast<u64>(row * args.table_pitch) + p.offset;
  }
  __device__ __forceinline__ u64 packed_address(const Piece& p) const {
    return args.packed + static_cast<u64>(static_cast<i64>(p.row) * args.packed_pitch) + p.offset;
  }
  /// Bytes of a whole item on a dense packed side, and where it begins.
  __device__ __forceinline__ u32 dense_bytes(u64 item) const {
    const u64 left = static_cast<u64>(args.count) - item;
    const u32 pieces = left < args.stage_pieces ? static_cast<u32>(left) : args.stage_pieces;
    return pieces * args.part_bytes;
  }
  __device__ __forceinline__ u64 dense_address(u64 item) const {
    return args.packed + item * args.part_bytes;
  }
};

/// The whole launch: every warp runs its ring over every so many-th item as the grid has warps.
template <class Mover>
__device__ __forceinline__ void run_row_ring(const RowsArgs& args, u32 stage_bytes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const WarpRing ring = make_warp_ring(shared, args.stages, stage_bytes);
  Mover mover(args);
  const u64 warp = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  const u64 first = warp * args.stage_pieces;
  const u64 step = static_cast<u64>(gridDim.x) * (blockDim.x / 32) * args.stage_pieces;
  mover.step = step;
  mover.fetch(first);
  run_warp_ring(ring, mover, first, static_cast<u64>(args.count) * args.parts, step);
}

}  // namespace tw
