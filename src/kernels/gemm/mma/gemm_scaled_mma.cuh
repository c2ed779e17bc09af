// SPDX-License-Identifier: Apache-2.0
#pragma once
// mma.sync kernels for narrow types ("scaled" in names) with any strides and addresses.
// scaled_loop.cuh has the main loop.
//
// If D is quantized, 128 elements of a row share a scale: the columns of one tile, or with gated
// columns those of two tiles. The CTA then multiplies both tiles twice: first to find the largest
// magnitude, then to write D.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/mma/scaled_loop.cuh"

namespace tw {

template <class Loads>
struct ScaledTile {
  using Sum = typename Loads::Sum;

  const GemmScaledArgs& all;
  const GemmEpilogueArgs& args;
  GemmEffectiveSizes sizes;
  FullRun run;
  bool across, along;  // whether rows or columns are gated
  i32 z;

  __device__ __forceinline__ i32 row(i32 m0, i32 i) const {
    return across ? full_line(args, m0, i, kScaledRows) : m0 + i;
  }
  __device__ __forceinline__ i32 column(i32 n0, i32 i) const {
    return along ? full_line(args, n0, i, kScaledColumns) : n0 + i;
  }

  __device__ __forceinline__ void multiply(const GemmMatrix& matrix, u32* a, u32* b, float* sums,
                                           i32 m0, i32 n0) const {
    const GemmArgs& base = args.base;
    const GemmScales& scales = all.scales;
    const ScaledOperand of_a = {matrix.a, base.a_stride_m, base.a_stride_k, base.m, scales.a_type};
    const ScaledOperand of_b = {matrix.b, base.b_stride_n, base.b_stride_k, base.n, scales.b_type};
    float d[2][4][4] = {};
    scaled_sums<Loads>(
        d, a, b, 0, sizes.k, gemm_scales_along_k(scales), scales.d_type == kGemmI32,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(
              a, of_a, [&](i32 i) { return row(m0, i); }, k, sizes.k);
          scaled_fetch<Loads, kScaledColumns>(
              b, of_b, [&](i32 i) { return column(n0, i); }, k, sizes.k);
        },
        [&](float(&to)[2][4][4], Sum(&chain)[2][4][4], i32 block) {
          scaled_promote(
              to, chain,
              [&](i32 i) {
                const i32 line = row(m0, i);
                return line < base.m ? gemm_scale(scales.a, scales.a_by, line, block, z) : 0.0f;
              },
              [&](i32 i) {
                const i32 line = column(n0, i);
                return line < base.n ? gemm_scale(scales.b, scales.b_by, line, block, z) : 0.0f;
              });
        });
    scaled_put(d, sums);
  }

  // Calls visit(i, j, line, at) for each eight neighboring elements of D: their row and first
  // column in the tile's part of D, then in D itself.
  template <class Visit>
  __device__ __forceinline__ void each_eight(i32 m0, i32 n0, Visit visit) const {
    const i32 groups = kScaledColumns / (along ? 16 : 8);
    const i32 lines = kScaledRows / (across ? 2 : 1);
#pragma unroll 1
    for (auto item = static_cast<i32>(threadIdx.x); item < lines * groups; item += kScaledThreads) {
      const i32 i = item / groups, j = item % groups * 8;
      const i32 line = (across ? m0 / 2 : m0) + i, at = (along ? n0 / 2 : n0) + j;
      if (line < run.lines && at < run.extent) visit(i, j, line, at);
    }
  }

  __device__ __forceinline__ void write_integers(const float* sums, i32 m0, i32 n0) const {
    each_eight(m0, n0, [&](i32 i, i32 j, i32 line, i32 at) {
      auto* to = reinterpret_cast<i32*>(run.d) + line * args.base.d_stride_m + at;
#pragma unroll
      for (i32 e = 0; e < 8; ++e)
        if (at + e < run.extent) to[e] = __float_as_int(sums[i * kScaledSumPitch + j + e]);
    });
  }

  // Applies the epilogue to a tile. row_largest[i] is the largest finite magnitude of row i's scale
  // block. The first phase (`finds`) only computes row_largest. The second phase writes D, divided
  // by the block's scale if `quantizes`.
  __device__ __forceinline__ void write(const float* sums, u32* row_largest, bool finds,
                                        bool quantizes, i32 m0, i32 n0, u32& largest) const {
    const GemmScales& scales = all.scales;
    const u32 type = scales.d_type;
    const i32 half = across ? kScaledRows / 2 : kScaledColumns / 2;
    const FullGate tile_gate = {args.gate, args.gate_across, half};
    each_eight(m0, n0, [&](i32 i, i32 j, i32 line, i32 at) {
      const i32 count = run.extent - at;
      FullVectors vectors;
      full_along<typename Loads::In>(args, run, at, count, vectors);
      full_spread(args, full_across<typename Loads::In>(args, line), vectors);
      const auto take = [&](bool second, float(&v)[8]) {
        const FullPlace place = full_place(tile_gate, i, j, second);
        const float* from = sums + place.line * kScaledSumPitch + place.at;
#pragma unroll
        for (i32 e = 0; e < 8; ++e) v[e] = from[e * place.step];
      };
      const auto take_c = [&](FullPlace place, float(&c)[8]) {
        scaled_load(type, run.c, place.line * args.base.c_stride_m + place.at, place.step, count,
                    c);
      };
      const auto put = [&](float(&v)[8]) {
        if (args.amax && !is_scaled_f8(type)) {
#pragma unroll
          for (i32 e = 0; e < 8; ++e)
            if (e < count) largest = max(largest, act::bits(v[e]) & 0x7fffffffu);
        }
        if (finds) {
          u32 most = 0;
#pragma unroll
          for (i32 e = 0; e < 8; ++e)
            if (e < count) most = max(most, gemm_finite(v[e]));
          atomicMax(row_largest + i, most);
          return;
        }
        if (quantizes) {
          const float scale = gemm_block_scale(float_of(row_largest[i]), format_max(type));
          const float inverse = gemm_block_inverse(scale);
#pragma unroll
          for (float& value : v) value *= inverse;
          if (at % kScaleDepth == 0)
            reinterpret_cast<float*>(scales.d.address)[line * scales.d.line_step +
                                                       at / kScaleDepth * scales.d.block_step +
                                                       z * scales.d.batch_step] = scale;
        }
        scaled_store(type, run.d, line * args.base.d_stride_m + at, count, v);
      };
      u32 unscaled = 0;
      full_make<typename Loads::In, F32, true>(args, run, vectors, line, at, count, unscaled, take,
                                               take_c, put);
      if (is_scaled_f8(type)) largest = max(largest, unscaled);
    });
  }
};

template <class Loads>
__device__ void gemm_scaled_mma(const GemmScaledArgs& all) {
  constexpr i32 kPitch = kScaledPitch<Loads>;
  __shared__ __align__(16) u32 a[kScaledRows * kPitch];
  __shared__ __align__(16) u32 b[kScaledColumns * kPitch];
  __shared__ __align__(16) float sums[kScaledRows * kScaledSumPitch];
  __shared__ u32 row_largest[kScaledRows];
  ptx::grid_dependency_wait_and_launch();
  const GemmEpilogueArgs& args = all.full;
  const bool gated = args.gate != kGateNone;
  ScaledTile<Loads> tile = {all,
                            args,
                            gemm_effective_sizes(args, kScaledRows, kScaledColumns),
                            {},
                            gated && args.gate_across,
                            gated && !args.gate_across,
                            0};
  GemmEffectiveSizes& sizes = tile.sizes;
  const bool quantizes = all.scales.d.address != 0;
  const i32 passes = quantizes && tile.along ? 2 : 1;
  sizes.units_n = (sizes.units_n + passes - 1) / passes;
  const i32 lines = tile.across ? args.half : sizes.m;
  tile.run = full_run(args, lines, tile.along ? args.half : sizes.n);
  u32 largest = 0;
  const i32 units = sizes.units_m * sizes.units_n;
  for (auto unit = static_cast<i32>(blockIdx.x); unit < units * args.batch;
       unit += static_cast<i32>(gridDim.x)) {
    tile.z = unit / units;
    const GemmMatrix matrix = gemm_matrix(args, tile.z, static_cast<i32>(Loads::In::kBytes),
                                          scaled_bytes(all.scales.d_type));
    if (matrix.d == 0) continue;
    tile.run.c = matrix.c;
    tile.run.d = matrix.d;
    i32 m0, unit_n;
    gemm_unit(sizes, unit - tile.z * units, &m0, &unit_n);
    m0 *= kScaledRows;
    if (quantizes) {
      for (auto i = static_cast<i32>(threadIdx.x); i < kScaledRows; i += kScaledThreads)
        row_largest[i] = 0;
      ptx::sync_block();
    }
    for (i32 phase = quantizes ? 0 : 1; phase < 2; ++phase)
      for (i32 pass = 0; pass < passes; ++pass) {
        const i32 n0 = (unit_n * passes + pass) * kScaledColumns;
        // With a single pass, the second phase finds the accumulators of the first one in `sums`.
        if (phase == 0 || !quantizes || passes == 2) {
          tile.multiply(matrix, a, b, sums, m0, n0);
          ptx::sync_block();
        }
        if (all.scales.d_type == kGemmI32)
          tile.write_integers(sums, m0, n0);
        else
          tile.write(sums, row_largest, phase == 0, quantizes, m0, n0, largest);
        ptx::sync_block();
      }
  }
  scaled_amax(args, all.scales.d_type, largest);
}

}  // namespace tw
