// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 8-bit types with any pitches, addresses and scales. Persistent blocks
// multiply tiles of 32 rows of a group by 128 columns of B. The main loop is that of
// scaled_loop.cuh.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/gemm/mma/scaled_loop.cuh"
#include "kernels/grouped/grouped_scales.h"
#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Loads>
struct GroupedScaledShared {
  __align__(16) u32 a[kScaledRows * kScaledPitch<Loads>];
  __align__(16) u32 b[kScaledColumns * kScaledPitch<Loads>];
  __align__(16) float accumulators[kScaledRows * kScaledSumPitch];
};

/// What the epilogue and the loads need for each row of a tile.
struct GroupedScaledRows {
  GroupedRowTarget targets[kScaledRows];
  i64 scales[kScaledRows];  // offset of the row's first scale, see grouped_a_scale()
  i32 rows[kScaledRows];    // row of A, or kGroupedNoRow
};

__device__ __forceinline__ void grouped_scaled_rows(const GroupedScaledArgs& scaled_args,
                                                    const GroupedMmaTile& tile,
                                                    GroupedScaledRows& tile_rows) {
  const auto row = static_cast<i32>(threadIdx.x);
  if (row >= kScaledRows) return;
  i32 a_row = -1;
  GroupedRowTarget target = {0, 0.0f};
  if (row < tile.rows) {
    const i32 r = tile.row0 + row;
    a_row = grouped_a_row(scaled_args.grouped, r);
    target = grouped_row_target(scaled_args.grouped, r, scaled_bytes(scaled_args.scales.d_type));
    tile_rows.scales[row] = a_row < 0 ? 0 : grouped_a_scale(scaled_args, tile.group, r, a_row);
  }
  tile_rows.rows[row] = a_row < 0 ? kGroupedNoRow : a_row;
  tile_rows.targets[row] = target;
}

/// Applies the epilogue to the tile's accumulators, which are in shared memory, and writes D.
template <class In>
__device__ __forceinline__ void grouped_scaled_write(const GroupedScaledArgs& scaled_args,
                                                     const GroupedMmaTile& tile,
                                                     const float* accumulators,
                                                     const GroupedScaledRows& rows) {
  const GroupedArgs& args = scaled_args.grouped;
  const bool gated = args.gate != kGateNone;
  const i32 column_groups = kScaledColumns / (gated ? 16 : 8);
  const i32 column0 = gated ? tile.column0 / 2 : tile.column0, columns = grouped_columns(args);
  const GroupedAlphaBias alpha_bias = grouped_alpha_bias(args, tile.weight_index);
  const i32 bytes = scaled_bytes(scaled_args.scales.d_type);
  // If the gate columns are one half of B's columns, they are one half of the tile's columns, too.
  const FullGate tile_gate = {args.gate, 0, kScaledColumns / 2};
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < tile.rows * column_groups;
       item += kScaledThreads) {
    const i32 row = item / column_groups, column = item % column_groups * 8;
    const i32 count = columns - (column0 + column);
    const GroupedRowTarget target = rows.targets[row];
    if (count <= 0 || target.address == 0) continue;
    float v[8];
    grouped_values(
        args, alpha_bias, target,
        [&](bool linear, float(&out)[8]) {
          const FullPlace place = full_place(tile_gate, row, column, linear);
          const float* from = accumulators + row * kScaledSumPitch + place.at;
#pragma unroll
          for (i32 i = 0; i < 8; ++i) out[i] = from[i * place.step];
        },
        [&](bool linear, float(&bias)[8]) {
          grouped_bias<In>(args, alpha_bias, column0 + column, count, linear, bias);
        },
        v);
    const u64 to = target.address + static_cast<u64>((column0 + column) * static_cast<i64>(bytes));
    grouped_store_or_add(args, scaled_args.scales.d_type, to, count, v);
  }
}

template <class Loads>
__device__ void grouped_scaled_mma(const GroupedScaledArgs& scaled_args) {
  __shared__ GroupedScaledShared<Loads> shared;
  __shared__ GroupedScaledRows rows;
  __shared__ GroupedTileTable table;
  const GroupedArgs& args = scaled_args.grouped;
  const GemmScales& scales = scaled_args.scales;
  ptx::grid_dependency_wait_and_launch();
  grouped_make_tile_table<kScaledRows, kScaledColumns>(args, table);
  const i64 tile_count = table.first_tile[args.group_count];
  const i32 k_end = args.alpha == 0.0f ? 0 : args.k;  // with alpha 0 no operand may be read
  for (i64 tile_index = blockIdx.x; tile_index < tile_count; tile_index += gridDim.x) {
    const GroupedMmaTile tile =
        grouped_mma_tile<kScaledRows, kScaledColumns>(args, table, tile_index);
    grouped_scaled_rows(scaled_args, tile, rows);
    ptx::sync_block();
    const auto row = [&](i32 i) { return rows.rows[i]; };
    const auto column = [&](i32 i) {
      return grouped_column<kScaledColumns>(args, tile.column0, i);
    };
    const ScaledOperand a_operand = {args.a, args.a_pitch, 1, kGroupedNoRow, scales.a_type};
    const ScaledOperand b_operand = {args.b + static_cast<u64>(tile.weight_index * args.b_stride),
                                     args.b_stride_n, args.b_stride_k, args.n, scales.b_type};
    float d[2][4][4] = {};
    scaled_sums<Loads>(
        d, shared.a, shared.b, 0, k_end, gemm_scales_along_k(scales), false,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(shared.a, a_operand, row, k, k_end);
          scaled_fetch<Loads, kScaledColumns>(shared.b, b_operand, column, k, k_end);
        },
        [&](float(&to)[2][4][4], typename Loads::Sum(&chain)[2][4][4], i32 block) {
          scaled_promote(
              to, chain,
              [&](i32 i) {
                if (rows.rows[i] == kGroupedNoRow) return 1.0f;
                return grouped_a_scale_at(scales, rows.scales[i], block);
              },
              [&](i32 i) {
                const i32 b_column = column(i);
                return b_column < args.n
                           ? gemm_scale(scales.b, scales.b_by, b_column, block, tile.weight_index)
                           : 0.0f;
              });
        });
    scaled_put(d, shared.accumulators);
    ptx::sync_block();
    grouped_scaled_write<typename Loads::In>(scaled_args, tile, shared.accumulators, rows);
    ptx::sync_block();
  }
}

template <class Loads>
__device__ void grouped_scaled_ranges(const GroupedScaledArgs& scaled_args) {
  __shared__ GroupedScaledShared<Loads> shared;
  const GroupedArgs& args = scaled_args.grouped;
  const GemmScales& scales = scaled_args.scales;
  ptx::grid_dependency_wait_and_launch();
  const i32 units_m = grouped_tile_count<kScaledRows>(args.m);
  const GroupedTileOrder order = {units_m, grouped_tile_count<kScaledColumns>(args.n),
                                  args.band > 0 ? args.band : units_m};
  const ScaledOperand a_operand = {args.a, 1, args.a_pitch, args.m, scales.a_type};
  const ScaledOperand b_operand = {args.b, args.b_stride_n, args.b_stride_k, args.n, scales.b_type};
  const i64 tiles_of_group = static_cast<i64>(order.units_m) * order.units_n;
  for (i64 tile = blockIdx.x; tile < tiles_of_group * args.group_count; tile += gridDim.x) {
    const auto g = static_cast<i32>(tile / tiles_of_group);
    GroupRows range = grouped_rows(args, g, args.k);
    // With alpha 0 no operand may be read.
    if (args.alpha == 0.0f) range.end = range.begin;
    if (range.begin == range.end && args.beta == 1.0f) continue;
    i32 row0 = 0, column0 = 0;
    gemm_unit(order, static_cast<i32>(tile - g * tiles_of_group), &row0, &column0);
    row0 *= kScaledRows, column0 *= kScaledColumns;
    float d[2][4][4] = {};
    scaled_sums<Loads>(
        d, shared.a, shared.b, range.begin, range.end, false, false,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(
              shared.a, a_operand, [&](i32 i) { return row0 + i; }, k, range.end);
          scaled_fetch<Loads, kScaledColumns>(
              shared.b, b_operand, [&](i32 i) { return column0 + i; }, k, range.end);
        },
        [&](float(&to)[2][4][4], typename Loads::Sum(&chain)[2][4][4], i32) {
          scaled_promote(
              to, chain,
              [&](i32 i) {
                return row0 + i < args.m ? gemm_scale(scales.a, scales.a_by, row0 + i, 0, 0) : 0.0f;
              },
              [&](i32 i) {
                return column0 + i < args.n ? gemm_scale(scales.b, scales.b_by, column0 + i, 0, 0)
                                            : 0.0f;
              });
        });
    scaled_put(d, shared.accumulators);
    ptx::sync_block();
    ranges_write_tile<kScaledRows, kScaledColumns, kScaledSumPitch>(
        args, args.d + static_cast<u64>(g * args.d_stride * 4), shared.accumulators, row0, column0);
    ptx::sync_block();
  }
}

}  // namespace tw
