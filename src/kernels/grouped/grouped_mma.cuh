// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 16-bit types with any pitches and addresses. Persistent blocks multiply tiles
// of 64 x 64 by mma.sync. These kernels serve operands that the TMA cannot address, and devices
// without wgmma.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Storage>
struct GroupedShared {
  __align__(16) Storage a[kPlainTile * kPlainPitch];
  __align__(16) Storage b[kPlainTile * kPlainPitch];
  __align__(16) float accumulators[kPlainTile * kFullPlainPitch];
  GroupedTileTable table;
  GroupedRowTarget targets[kPlainTile];
  i32 rows[kPlainTile];  // of A
};

template <class Out, class Shared>
__device__ __forceinline__ void grouped_rows_of_tile(const GroupedArgs& args,
                                                     const GroupedMmaTile& tile, Shared& shared) {
  const auto row = static_cast<i32>(threadIdx.x);
  if (row >= kPlainTile) return;
  i32 a_row = -1;
  GroupedRowTarget target = {0, 0.0f};
  if (row < tile.rows) {
    a_row = grouped_a_row(args, tile.row0 + row);
    target = grouped_row_target<Out>(args, tile.row0 + row);
  }
  shared.rows[row] = a_row < 0 ? kGroupedNoRow : a_row;
  shared.targets[row] = target;
}

template <class Storage>
__device__ __forceinline__ const Storage* grouped_weights(const GroupedArgs& args,
                                                          i32 weight_index) {
  return reinterpret_cast<const Storage*>(args.b) + weight_index * args.b_stride;
}

/// Applies the epilogue to the tile's accumulators, which are in shared memory, and writes D.
template <class In, class Out, class Shared>
__device__ __forceinline__ void grouped_mma_write(const GroupedArgs& args,
                                                  const GroupedMmaTile& tile,
                                                  const Shared& shared) {
  const bool gated = args.gate != kGateNone;
  const i32 column_groups = kPlainTile / (gated ? 16 : 8);
  const i32 column0 = gated ? tile.column0 / 2 : tile.column0, columns = grouped_columns(args);
  const GroupedAlphaBias alpha_bias = grouped_alpha_bias(args, tile.weight_index);
  // If the gate columns are one half of B's columns, they are one half of the tile's columns, too.
  const FullGate tile_gate = {args.gate, 0, kPlainTile / 2};
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < tile.rows * column_groups;
       item += static_cast<i32>(kPlainThreads)) {
    const i32 row = item / column_groups, column = item % column_groups * 8;
    const i32 count = columns - (column0 + column);
    if (count <= 0) continue;
    grouped_write_eight<In, Out>(
        args, alpha_bias, shared.targets[row], column0 + column, count,
        [&](bool linear, float(&v)[8]) {
          const FullPlace place = full_place(tile_gate, row, column, linear);
          const float* from = shared.accumulators + row * kFullPlainPitch + place.at;
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
  grouped_make_tile_table<kPlainTile, kPlainTile>(args, shared.table);
  const i64 tile_count = shared.table.first_tile[args.group_count];
  const i32 k_end = args.alpha == 0.0f ? 0 : args.k;  // with alpha 0 no operand may be read
  for (i64 tile_index = blockIdx.x; tile_index < tile_count; tile_index += gridDim.x) {
    const GroupedMmaTile tile =
        grouped_mma_tile<kPlainTile, kPlainTile>(args, shared.table, tile_index);
    grouped_rows_of_tile<Out>(args, tile, shared);
    ptx::sync_block();
    const auto row = [&](i32 i) { return shared.rows[i]; };
    const auto column = [&](i32 i) { return grouped_column<kPlainTile>(args, tile.column0, i); };
    float d[2][4][4] = {};
    grouped_multiply<In>(
        d, shared, 0, k_end,
        GroupedOperand<Storage, decltype(row)>{reinterpret_cast<const Storage*>(args.a),
                                               args.a_pitch, 1, kGroupedNoRow, row},
        GroupedOperand<Storage, decltype(column)>{grouped_weights<Storage>(args, tile.weight_index),
                                                  args.b_stride_n, args.b_stride_k, args.n,
                                                  column});
    full_plain_stage(d, shared.accumulators);
    ptx::sync_block();
    grouped_mma_write<In, Out>(args, tile, shared);
    ptx::sync_block();
  }
}

}  // namespace tw
