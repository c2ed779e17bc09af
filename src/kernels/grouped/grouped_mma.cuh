// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 16-bit types for any pitches and addresses: tiles of 64 x 64 by mma.sync, in
// persistent blocks. They serve operands that the TMA cannot address, and devices without wgmma.

#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Storage>
struct GroupedShared {
  __align__(16) Storage a[kPlainTile * kPlainPitch];
  __align__(16) Storage b[kPlainTile * kPlainPitch];
  __align__(16) float sums[kPlainTile * kFullPlainPitch];
  GroupedTable table;
  GroupedLine lines[kPlainTile];
  i32 rows[kPlainTile];  // of A
};

template <class Out, class Shared>
__device__ __forceinline__ void grouped_rows_of_tile(const GroupedArgs& args, const GroupedAt& at,
                                                     Shared& shared) {
  const auto row = static_cast<i32>(threadIdx.x);
  if (row >= kPlainTile) return;
  i32 from = -1;
  GroupedLine line = {0, 0.0f};
  if (row < at.rows) {
    from = grouped_a_row(args, at.row0 + row);
    line = grouped_line<Out>(args, at.row0 + row);
  }
  shared.rows[row] = from < 0 ? kGroupedNoRow : from;
  shared.lines[row] = line;
}

template <class Storage>
__device__ __forceinline__ const Storage* grouped_weights(const GroupedArgs& args, i32 weight) {
  return reinterpret_cast<const Storage*>(args.b) + weight * args.b_stride;
}

/// Applies the epilogue to the tile's accumulators in shared.sums and writes D.
template <class In, class Out, class Shared>
__device__ __forceinline__ void grouped_put(const GroupedArgs& args, const GroupedAt& at,
                                            const Shared& shared) {
  const bool gated = args.gate != kGateNone;
  const i32 groups = kPlainTile / (gated ? 16 : 8);
  const i32 column0 = gated ? at.n0 / 2 : at.n0, columns = grouped_columns(args);
  const GroupedTile tile = grouped_tile(args, at.weight);
  // Gates and linear columns in separate halves of B are half a tile apart in the tile.
  const FullGate inside = {args.gate, 0, kPlainTile / 2};
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < at.rows * groups;
       item += static_cast<i32>(kPlainThreads)) {
    const i32 row = item / groups, column = item % groups * 8;
    const i32 count = columns - (column0 + column);
    if (count <= 0) continue;
    grouped_write<In, Out>(args, tile, shared.lines[row], column0 + column, count,
                           [&](bool second, float(&v)[8]) {
                             const FullPlace place = full_place(inside, row, column, second);
                             const float* from = shared.sums + row * kFullPlainPitch + place.at;
#pragma unroll
                             for (i32 i = 0; i < 8; ++i) v[i] = from[i * place.step];
                           });
  }
}

template <class In, class Out>
__device__ __forceinline__ void grouped_mma(const GroupedArgs& args) {
  using Storage = typename In::Storage;
  __shared__ GroupedShared<Storage> shared;
  ptx::grid_dependency_wait_and_launch();
  grouped_make_tiles<kPlainTile, kPlainTile>(args, shared.table);
  const i64 items = shared.table.first[args.group_count];
  const i32 k_end = args.alpha == 0.0f ? 0 : args.k;  // with alpha 0 no operand may be read
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    const GroupedAt at = grouped_at<kPlainTile, kPlainTile>(args, shared.table, item);
    grouped_rows_of_tile<Out>(args, at, shared);
    ptx::sync_block();
    const auto row = [&](i32 i) { return shared.rows[i]; };
    const auto column = [&](i32 i) { return grouped_column<kPlainTile>(args, at.n0, i); };
    float d[2][4][4] = {};
    grouped_multiply<In>(
        d, shared, 0, k_end,
        GroupedOperand<Storage, decltype(row)>{reinterpret_cast<const Storage*>(args.a),
                                               args.a_pitch, 1, kGroupedNoRow, row},
        GroupedOperand<Storage, decltype(column)>{grouped_weights<Storage>(args, at.weight),
                                                  args.b_stride_n, args.b_stride_k, args.n,
                                                  column});
    full_plain_put(d, shared.sums);
    ptx::sync_block();
    grouped_put<In, Out>(args, at, shared);
    ptx::sync_block();
  }
}

}  // namespace tw
