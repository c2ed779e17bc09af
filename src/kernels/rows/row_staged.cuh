// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves short rows of whole 16-byte units through a per-warp pipeline. Threads move the units of
// table rows, because bulk copies would be too many and too small. One bulk copy moves the packed
// rows of a stage.

#include "kernels/ptx/async_copy.cuh"
#include "kernels/rows/row_ring.cuh"

namespace tw {

struct StagedGather : RowPieces {
  static constexpr bool kWeights = false;
  static constexpr u32 kArrivals = 32;
  u64 step = 0;
  explicit __device__ __forceinline__ StagedGather(const RowsArgs& a) : RowPieces(a) {}

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    const u32 row_units = args.part_bytes / 16;
    const u32 units = pieces_of(item) * row_units;
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      if (slot(k) < args.stage_pieces)
        ptx::shared_store<8>(row_note(stage, slot(k)), static_cast<u64>(next_row[k]));
    }
    ptx::sync_warp();
#pragma unroll 4
    for (u32 unit = ptx::lane_id(); unit < units; unit += 32) {
      const u32 r = divide(unit, args.unit_divider);
      const u32 inside = (unit - r * row_units) * 16;
      const i64 row = static_cast<i64>(ptx::shared_load<8>(row_note(stage, r)));
      const bool exists = row != kNoRow;
      const u64 from =
          args.table + static_cast<u64>((exists ? row : 0) * args.table_pitch) + inside;
      // For an index without a row, the source size 0 writes zeros and reads nothing.
      ptx::async_copy<16>(stage + unit * 16, exists ? from : args.packed, exists ? 16 : 0);
    }
    ptx::mbarrier_arrive_copies(barrier);
    fetch<kWeights>(item + step);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    // Threads wrote the stage, so the async proxy needs a fence before the bulk store reads it.
    ptx::fence_async_shared();
    ptx::sync_warp();
    const u32 rows = pieces_of(item);
    if (args.dense) {
      if (ptx::lane_id() == 0)
        ptx::store_bulk_hint(ptx::global_pointer(dense_address(item)), stage,
                             rows * args.part_bytes, args.write_policy);
      return;
    }
    for (u32 at = ptx::lane_id(); at < rows; at += 32) {
      const RowPiece p = row_piece(args, item + at, total);
      ptx::store_bulk_hint(ptx::global_pointer(packed_address(p)), stage + at * args.part_bytes,
                           p.bytes, args.write_policy);
    }
  }
};

struct StagedScatter : RowPieces {
  static constexpr bool kWeights = false;
  static constexpr u32 kArrivals = 1;
  u64 step = 0;
  explicit __device__ __forceinline__ StagedScatter(const RowsArgs& a) : RowPieces(a) {}

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    const u32 rows = pieces_of(item);
#pragma unroll
    for (u32 k = 0; k < kRowsPiecesPerLane; ++k) {
      if (slot(k) < args.stage_pieces)
        ptx::shared_store<8>(row_note(stage, slot(k)), static_cast<u64>(next_row[k]));
    }
    if (ptx::lane_id() == 0) {
      ptx::mbarrier_arrive_expect(barrier, rows * args.part_bytes);
      if (args.dense)
        ptx::load_bulk_hint(stage, ptx::global_pointer(dense_address(item)), rows * args.part_bytes,
                            barrier, args.read_policy);
    }
    ptx::sync_warp();
    if (!args.dense) {
      for (u32 at = ptx::lane_id(); at < rows; at += 32) {
        const RowPiece p = row_piece(args, item + at, total);
        ptx::load_bulk_hint(stage + at * args.part_bytes, ptx::global_pointer(packed_address(p)),
                            p.bytes, barrier, args.read_policy);
      }
    }
    fetch<kWeights>(item + step);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    const u32 row_units = args.part_bytes / 16;
    const u32 units = pieces_of(item) * row_units;
#pragma unroll 4
    for (u32 unit = ptx::lane_id(); unit < units; unit += 32) {
      const u32 r = divide(unit, args.unit_divider);
      const u32 inside = (unit - r * row_units) * 16;
      const i64 row = static_cast<i64>(ptx::shared_load<8>(row_note(stage, r)));
      if (row != kNoRow)
        ptx::store_unit<16>(args.table + static_cast<u64>(row * args.table_pitch) + inside,
                            ptx::shared_load<16>(stage + unit * 16));
    }
    // All lanes have read the stage before the next load into it is issued.
    ptx::sync_warp();
  }
};

template <class Mover>
__device__ __forceinline__ void rows_staged(const RowsArgs& args) {
  run_row_pipeline<Mover>(args, args.stage_bytes + rows_note_bytes(args.stage_pieces));
}

}  // namespace tw
