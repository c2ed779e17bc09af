// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 8-bit types for any pitches, addresses and scales: tiles of 32 rows of a
// group by 128 columns of B, in persistent blocks. The main loop is that of scaled_loop.cuh.

#include "kernels/gemm/mma/scaled_loop.cuh"
#include "kernels/grouped/grouped_scales.h"
#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Loads>
struct GroupedScaledShared {
  __align__(16) u32 a[kScaledRows * kScaledPitch<Loads>];
  __align__(16) u32 b[kScaledColumns * kScaledPitch<Loads>];
  __align__(16) float sums[kScaledRows * kScaledSumPitch];
};

/// For each row of a tile: where it lies in A and D, its weight and its scales.
struct GroupedScaledRows {
  GroupedLine lines[kScaledRows];
  i64 scales[kScaledRows];  // offset of the row's first scale, see grouped_a_scale()
  i32 rows[kScaledRows];    // row of A, or kGroupedNoRow
};

__device__ __forceinline__ void grouped_scaled_rows(const GroupedScaledArgs& all,
                                                    const GroupedAt& at, GroupedScaledRows& tile) {
  const auto row = static_cast<i32>(threadIdx.x);
  if (row >= kScaledRows) return;
  i32 from = -1;
  GroupedLine line = {0, 0.0f};
  if (row < at.rows) {
    const i32 r = at.row0 + row;
    from = grouped_a_row(all.grouped, r);
    line = grouped_line(all.grouped, r, scaled_bytes(all.scales.d_type));
    tile.scales[row] = from < 0 ? 0 : grouped_a_scale(all, at.group, r, from);
  }
  tile.rows[row] = from < 0 ? kGroupedNoRow : from;
  tile.lines[row] = line;
}

/// Stores or adds eight elements of a D of type f32, f16 or bf16.
__device__ __forceinline__ void grouped_scaled_store(const GroupedArgs& args, u32 type, u64 to,
                                                     i32 count, const float (&v)[8]) {
  if (type == kFormatF32) return grouped_put_eight<F32>(args, to, count, v);
  if (type == kFormatF16) return grouped_put_eight<F16>(args, to, count, v);
  grouped_put_eight<Bf16>(args, to, count, v);
}

/// Applies the epilogue to the tile's accumulators in `sums` and writes D.
template <class In>
__device__ __forceinline__ void grouped_scaled_put(const GroupedScaledArgs& all,
                                                   const GroupedAt& at, const float* sums,
                                                   const GroupedScaledRows& rows) {
  const GroupedArgs& args = all.grouped;
  const bool gated = args.gate != kGateNone;
  const i32 groups = kScaledColumns / (gated ? 16 : 8);
  const i32 column0 = gated ? at.n0 / 2 : at.n0, columns = grouped_columns(args);
  const GroupedTile tile = grouped_tile(args, at.weight);
  const i32 bytes = scaled_bytes(all.scales.d_type);
  // Gates and linear columns in separate halves of B are half a tile apart in the tile.
  const FullGate inside = {args.gate, 0, kScaledColumns / 2};
#pragma unroll 1
  for (auto item = static_cast<i32>(threadIdx.x); item < at.rows * groups; item += kScaledThreads) {
    const i32 row = item / groups, column = item % groups * 8;
    const i32 count = columns - (column0 + column);
    const GroupedLine line = rows.lines[row];
    if (count <= 0 || line.d == 0) continue;
    float v[8];
    grouped_values(
        args, tile, line,
        [&](bool second, float(&sum)[8]) {
          const FullPlace place = full_place(inside, row, column, second);
          const float* from = sums + row * kScaledSumPitch + place.at;
#pragma unroll
          for (i32 i = 0; i < 8; ++i) sum[i] = from[i * place.step];
        },
        [&](bool second, float(&bias)[8]) {
          grouped_bias<In>(args, tile, column0 + column, count, second, bias);
        },
        v);
    const u64 to = line.d + static_cast<u64>((column0 + column) * static_cast<i64>(bytes));
    grouped_scaled_store(args, all.scales.d_type, to, count, v);
  }
}

template <class Loads>
__device__ void grouped_scaled_mma(const GroupedScaledArgs& all) {
  __shared__ GroupedScaledShared<Loads> shared;
  __shared__ GroupedScaledRows rows;
  __shared__ GroupedTable table;
  const GroupedArgs& args = all.grouped;
  const GemmScales& scales = all.scales;
  ptx::grid_dependency_wait_and_launch();
  grouped_make_tiles<kScaledRows, kScaledColumns>(args, table);
  const i64 items = table.first[args.group_count];
  const i32 k_end = args.alpha == 0.0f ? 0 : args.k;  // with alpha 0 no operand may be read
  for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
    const GroupedAt at = grouped_at<kScaledRows, kScaledColumns>(args, table, item);
    grouped_scaled_rows(all, at, rows);
    ptx::sync_block();
    const auto row = [&](i32 i) { return rows.rows[i]; };
    const auto column = [&](i32 i) { return grouped_column<kScaledColumns>(args, at.n0, i); };
    const ScaledOperand of_a = {args.a, args.a_pitch, 1, kGroupedNoRow, scales.a_type};
    const ScaledOperand of_b = {args.b + static_cast<u64>(at.weight * args.b_stride),
                                args.b_stride_n, args.b_stride_k, args.n, scales.b_type};
    float d[2][4][4] = {};
    scaled_sums<Loads>(
        d, shared.a, shared.b, 0, k_end, gemm_scales_along_k(scales), false,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(shared.a, of_a, row, k, k_end);
          scaled_fetch<Loads, kScaledColumns>(shared.b, of_b, column, k, k_end);
        },
        [&](float(&to)[2][4][4], typename Loads::Sum(&chain)[2][4][4], i32 block) {
          scaled_promote(
              to, chain,
              [&](i32 i) {
                if (rows.rows[i] == kGroupedNoRow) return 1.0f;
                return grouped_a_scale_at(scales, rows.scales[i], block);
              },
              [&](i32 i) {
                const i32 of = column(i);
                return of < args.n ? gemm_scale(scales.b, scales.b_by, of, block, at.weight) : 0.0f;
              });
        });
    scaled_put(d, shared.sums);
    ptx::sync_block();
    grouped_scaled_put<typename Loads::In>(all, at, shared.sums, rows);
    ptx::sync_block();
  }
}

template <class Loads>
__device__ void grouped_scaled_ranges(const GroupedScaledArgs& all) {
  __shared__ GroupedScaledShared<Loads> shared;
  const GroupedArgs& args = all.grouped;
  const GemmScales& scales = all.scales;
  ptx::grid_dependency_wait_and_launch();
  const i32 units_m = grouped_tiles<kScaledRows>(args.m);
  const GroupedWalk walk = {units_m, grouped_tiles<kScaledColumns>(args.n),
                            args.band > 0 ? args.band : units_m};
  const ScaledOperand of_a = {args.a, 1, args.a_pitch, args.m, scales.a_type};
  const ScaledOperand of_b = {args.b, args.b_stride_n, args.b_stride_k, args.n, scales.b_type};
  const i64 tiles = static_cast<i64>(walk.units_m) * walk.units_n;
  for (i64 item = blockIdx.x; item < tiles * args.group_count; item += gridDim.x) {
    const auto g = static_cast<i32>(item / tiles);
    GroupRows range = grouped_rows(args, g, args.k);
    // With alpha 0 no operand may be read.
    if (args.alpha == 0.0f) range.end = range.begin;
    if (range.begin == range.end && args.beta == 1.0f) continue;
    i32 m0 = 0, n0 = 0;
    gemm_unit(walk, static_cast<i32>(item - g * tiles), &m0, &n0);
    m0 *= kScaledRows, n0 *= kScaledColumns;
    float d[2][4][4] = {};
    scaled_sums<Loads>(
        d, shared.a, shared.b, range.begin, range.end, false, false,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(
              shared.a, of_a, [&](i32 i) { return m0 + i; }, k, range.end);
          scaled_fetch<Loads, kScaledColumns>(
              shared.b, of_b, [&](i32 i) { return n0 + i; }, k, range.end);
        },
        [&](float(&to)[2][4][4], typename Loads::Sum(&chain)[2][4][4], i32) {
          scaled_promote(
              to, chain,
              [&](i32 i) {
                return m0 + i < args.m ? gemm_scale(scales.a, scales.a_by, m0 + i, 0, 0) : 0.0f;
              },
              [&](i32 i) {
                return n0 + i < args.n ? gemm_scale(scales.b, scales.b_by, n0 + i, 0, 0) : 0.0f;
              });
        });
    scaled_put(d, shared.sums);
    ptx::sync_block();
    ranges_put<kScaledRows, kScaledColumns, kScaledSumPitch>(
        args, args.d + static_cast<u64>(g * args.d_stride * 4), shared.sums, m0, n0);
    ptx::sync_block();
  }
}

}  // namespace tw
