// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of narrow types for any strides and addresses: elements are converted as they are read
// into shared memory, 8-bit floats to f16, which hold them exactly. A tile has 128 columns, so that
// it has all of the elements of D that one scale of D is for; of gated columns two tiles have them.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/epilogue/scaled_types.cuh"

namespace tw {

inline constexpr i32 kScaledRows = 32;
inline constexpr i32 kScaledColumns = 128;
inline constexpr i32 kScaledK = 32;
inline constexpr i32 kScaledThreads = 128;
inline constexpr i32 kScaledSumPitch = kScaledColumns + 8;  // floats: rows start eight banks apart

// How a type is read: `kWords` of 32 bits hold kScaledK elements of a line, put() converts one,
// put_four() four that lie in a word. Where sums are exact (kExact), they stay in integers unless
// scales change along k; others are added in f32 for each kScaleDepth of k.

struct ScaledEights {
  using In = F8E4M3;
  using Storage = unsigned char;
  using Sum = float;
  static constexpr i32 kWords = kScaledK / 2;
  static constexpr bool kFours = true, kExact = false;
  static __device__ __forceinline__ void put(u32* line, i32 k, Storage value, u32 type) {
    const u32 half = type == kFormatE4M3 ? ptx::e4m3_to_f16(value) : static_cast<u32>(value) << 8;
    reinterpret_cast<unsigned short*>(line)[k] = static_cast<unsigned short>(half);
  }
  static __device__ __forceinline__ void put_four(u32* line, i32 k, u32 values, u32 type) {
    const bool e4m3 = type == kFormatE4M3;
    line[k / 2] = e4m3 ? ptx::e4m3_to_f16(static_cast<unsigned short>(values))
                       : __byte_perm(values, 0, 0x1404);
    line[k / 2 + 1] = e4m3 ? ptx::e4m3_to_f16(static_cast<unsigned short>(values >> 16))
                           : __byte_perm(values, 0, 0x3424);
  }
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    F16::mma(d, a, b);
  }
};

struct ScaledIntegers {
  using In = I8;
  using Storage = unsigned char;
  using Sum = i32;
  static constexpr i32 kWords = kScaledK / 4;
  static constexpr bool kFours = true, kExact = true;
  static __device__ __forceinline__ void put(u32* line, i32 k, Storage value, u32) {
    reinterpret_cast<Storage*>(line)[k] = value;
  }
  static __device__ __forceinline__ void put_four(u32* line, i32 k, u32 values, u32) {
    line[k / 4] = values;
  }
  static __device__ __forceinline__ void mma(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    I8::mma(d, a, b);
  }
};

struct ScaledRounded {
  using In = Tf32;
  using Storage = float;
  using Sum = float;
  static constexpr i32 kWords = kScaledK;
  static constexpr bool kFours = false, kExact = false;
  static __device__ __forceinline__ void put(u32* line, i32 k, Storage value, u32) {
    line[k] = bits_of(rounded_to_tf32(value));
  }
  static __device__ __forceinline__ void put_four(u32*, i32, u32, u32) {}
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    Tf32::mma(d, a, b);
  }
};

// Words from line to line in shared memory: the rows of a fragment lie in banks of their own.
template <class Loads>
inline constexpr i32 kScaledPitch = Loads::kWords + 4;

// An operand in global memory: lines of A are rows, of B columns.
struct ScaledOperand {
  u64 address;
  i64 line_stride, k_stride;
  i32 lines;
  u32 type;
};

// Line i of the tile is line first(i) of the operand; what lies outside counts as zeros.
template <class Loads, i32 kLines, class First>
__device__ __forceinline__ void scaled_fetch(u32* shared, const ScaledOperand& from, First first,
                                             i32 k0, i32 k_end) {
  using Storage = typename Loads::Storage;
  const auto* global = reinterpret_cast<const Storage*>(from.address);
  const bool along_k = from.k_stride == 1;
  const auto thread = static_cast<i32>(threadIdx.x);
  if (Loads::kFours && along_k && (from.address | static_cast<u64>(from.line_stride)) % 4 == 0 &&
      k0 + kScaledK <= k_end) {
#pragma unroll 4
    for (i32 i = 0; i < kLines * kScaledK / 4 / kScaledThreads; ++i) {
      const i32 item = i * kScaledThreads + thread;
      const i32 line = item / (kScaledK / 4), k = item % (kScaledK / 4) * 4;
      const i32 of = first(line);
      u32 values = 0;
      if (of < from.lines)
        values = *reinterpret_cast<const u32*>(global + of * from.line_stride + k0 + k);
      Loads::put_four(shared + line * kScaledPitch<Loads>, k, values, from.type);
    }
    return;
  }
#pragma unroll 4
  for (i32 i = 0; i < kLines * kScaledK / kScaledThreads; ++i) {
    const i32 item = i * kScaledThreads + thread;
    const i32 line = along_k ? item / kScaledK : item % kLines;
    const i32 k = along_k ? item % kScaledK : item / kLines;
    const i32 of = first(line);
    Storage value = 0;
    if (of < from.lines && k0 + k < k_end)
      value = global[of * from.line_stride + (k0 + k) * from.k_stride];
    Loads::put(shared + line * kScaledPitch<Loads>, k, value, from.type);
  }
}

// A warp has 32 columns of the tile and all of its rows.
template <class Loads>
__device__ __forceinline__ void scaled_multiply(typename Loads::Sum (&d)[2][4][4], const u32* a,
                                                const u32* b) {
  constexpr i32 kPitch = kScaledPitch<Loads>;
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto warp = static_cast<i32>(threadIdx.x / 32);
  const u32* const of_a = a + lane / 4 * kPitch + lane % 4;
  const u32* const of_b = b + (warp * 32 + lane / 4) * kPitch + lane % 4;
#pragma unroll
  for (i32 word = 0; word < Loads::kWords; word += 8) {
    u32 fa[2][4];
    u32 fb[4][2];
#pragma unroll
    for (i32 i = 0; i < 2; ++i)
#pragma unroll
      for (i32 part = 0; part < 4; ++part)
        fa[i][part] = of_a[(i * 16 + part % 2 * 8) * kPitch + word + part / 2 * 4];
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 part = 0; part < 2; ++part) fb[j][part] = of_b[j * 8 * kPitch + word + part * 4];
#pragma unroll
    for (i32 i = 0; i < 2; ++i)
#pragma unroll
      for (i32 j = 0; j < 4; ++j) Loads::mma(d[i][j], fa[i], fb[j]);
  }
}

template <class Visit>
__device__ __forceinline__ void scaled_each(Visit visit) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 e = 0; e < 4; ++e) visit(i, j, e);
}
// The bits of one in the other.
template <class To, class From>
__device__ __forceinline__ void scaled_keep(To (&to)[2][4][4], const From (&from)[2][4][4]) {
  scaled_each([&](i32 i, i32 j, i32 e) { to[i][j][e] = __builtin_bit_cast(To, from[i][j][e]); });
}

// d += the sums of a block times its scales, which of_a(row of the tile) and of_b(column) give.
template <class Sum, class OfA, class OfB>
__device__ __forceinline__ void scaled_promote(float (&d)[2][4][4], Sum (&chain)[2][4][4], OfA of_a,
                                               OfB of_b) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto warp = static_cast<i32>(threadIdx.x / 32);
  float of_row[4];
#pragma unroll
  for (i32 i = 0; i < 4; ++i) of_row[i] = of_a(lane / 4 + i * 8);
#pragma unroll
  for (i32 j = 0; j < 4; ++j)
#pragma unroll
    for (i32 e = 0; e < 2; ++e) {
      const float of_column = of_b(warp * 32 + j * 8 + lane % 4 * 2 + e);
#pragma unroll
      for (i32 i = 0; i < 4; ++i) {
        Sum& sum = chain[i / 2][j][i % 2 * 2 + e];
        float& to = d[i / 2][j][i % 2 * 2 + e];
        to = act::fused(of_row[i] * of_column, static_cast<float>(sum), to);
        sum = 0;
      }
    }
}

// A tile's sums over k from `begin` to `end` - 1, times their scales: fetch(k) reads the elements
// of a step into `a` and `b`, promote(d, chain, block) adds what a block or, unless scales change
// along k, all of k has. `integers`: d has the bits of exact sums, and there are no scales.
template <class Loads, class Fetch, class Promote>
__device__ __forceinline__ void scaled_sums(float (&d)[2][4][4], const u32* a, const u32* b,
                                            i32 begin, i32 end, bool along_k, bool integers,
                                            Fetch fetch, Promote promote) {
  typename Loads::Sum chain[2][4][4] = {};
  for (i32 k = begin; k < end; k += kScaledK) {
    fetch(k);
    ptx::sync_block();
    scaled_multiply<Loads>(chain, a, b);
    ptx::sync_block();
    if ((k - begin + kScaledK) % kScaleDepth != 0 && end - k > kScaledK) continue;
    if (along_k) {
      promote(d, chain, k / kScaleDepth);
    } else if constexpr (!Loads::kExact) {
      scaled_each([&](i32 i, i32 j, i32 e) {
        d[i][j][e] += chain[i][j][e];
        chain[i][j][e] = 0.0f;
      });
    }
  }
  if (along_k || begin >= end) return;
  if constexpr (Loads::kExact) {
    if (integers) return scaled_keep(d, chain);
  } else {
    scaled_keep(chain, d);
    scaled_each([&](i32 i, i32 j, i32 e) { d[i][j][e] = 0.0f; });
  }
  promote(d, chain, 0);
}

// The finished sums of a tile into shared memory, those of integers for an i32 D as they are.
__device__ __forceinline__ void scaled_put(const float (&d)[2][4][4], float* sums) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto warp = static_cast<i32>(threadIdx.x / 32);
  float* const to = sums + lane / 4 * kScaledSumPitch + warp * 32 + lane % 4 * 2;
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
      *reinterpret_cast<float2*>(to + i * 8 * kScaledSumPitch + j * 8) =
          make_float2(d[i / 2][j][i % 2 * 2], d[i / 2][j][i % 2 * 2 + 1]);
}

// What the passes of a unit have in common.
template <class Loads>
struct ScaledTile {
  using Sum = typename Loads::Sum;

  const GemmScaledArgs& all;
  const GemmEpilogueArgs& args;
  GemmEffectiveSizes live;
  FullRun run;
  bool across, along;  // which dimension is gated
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
        d, a, b, 0, live.k, gemm_scales_along_k(scales), scales.d_type == kGemmI32,
        [&](i32 k) {
          scaled_fetch<Loads, kScaledRows>(
              a, of_a, [&](i32 i) { return row(m0, i); }, k, live.k);
          scaled_fetch<Loads, kScaledColumns>(
              b, of_b, [&](i32 i) { return column(n0, i); }, k, live.k);
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

  // Calls visit(row of the tile, column of its part of D, line and place of D) for eight
  // neighbours.
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

  // `largest_of` has the largest finite magnitude of each row's elements that have a scale in
  // common; the first phase finds it, the second one writes. Without such scales `inverse` is 1.
  __device__ __forceinline__ void write(const float* sums, u32* largest_of, bool finds,
                                        bool quantizes, i32 m0, i32 n0, u32& largest) const {
    const GemmScales& scales = all.scales;
    const u32 type = scales.d_type;
    const i32 half = across ? kScaledRows / 2 : kScaledColumns / 2;
    const FullGate inside = {args.gate, args.gate_across, half};
    each_eight(m0, n0, [&](i32 i, i32 j, i32 line, i32 at) {
      const i32 count = run.extent - at;
      FullVectors vectors;
      full_along<typename Loads::In>(args, run, at, count, vectors);
      full_spread(args, full_across<typename Loads::In>(args, line), vectors);
      const auto take = [&](bool second, float(&v)[8]) {
        const FullPlace place = full_place(inside, i, j, second);
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
          atomicMax(largest_of + i, most);
          return;
        }
        if (quantizes) {
          const float scale = gemm_block_scale(float_of(largest_of[i]), format_max(type));
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
  __shared__ u32 largest_of[kScaledRows];
  ptx::grid_dependency_wait_and_launch();
  const GemmEpilogueArgs& args = all.full;
  const bool gated = args.gate != kGateNone;
  ScaledTile<Loads> tile = {all,
                            args,
                            gemm_live(args, kScaledRows, kScaledColumns),
                            {},
                            gated && args.gate_across,
                            gated && !args.gate_across,
                            0};
  GemmEffectiveSizes& live = tile.live;
  const bool quantizes = all.scales.d.address != 0;
  const i32 passes = quantizes && tile.along ? 2 : 1;
  live.units_n = (live.units_n + passes - 1) / passes;
  const i32 lines = tile.across ? args.half : live.m;
  tile.run = full_run(args, lines, tile.along ? args.half : live.n);
  u32 largest = 0;
  const i32 units = live.units_m * live.units_n;
  for (auto unit = static_cast<i32>(blockIdx.x); unit < units * args.batch;
       unit += static_cast<i32>(gridDim.x)) {
    tile.z = unit / units;
    const GemmMatrix matrix = gemm_matrix(args, tile.z, static_cast<i32>(Loads::In::kBytes),
                                          scaled_bytes(all.scales.d_type));
    if (matrix.d == 0) continue;
    tile.run.c = matrix.c;
    tile.run.d = matrix.d;
    i32 m0, unit_n;
    gemm_unit(live, unit - tile.z * units, &m0, &unit_n);
    m0 *= kScaledRows;
    if (quantizes) {
      for (auto i = static_cast<i32>(threadIdx.x); i < kScaledRows; i += kScaledThreads)
        largest_of[i] = 0;
      ptx::sync_block();
    }
    for (i32 phase = quantizes ? 0 : 1; phase < 2; ++phase)
      for (i32 pass = 0; pass < passes; ++pass) {
        const i32 n0 = (unit_n * passes + pass) * kScaledColumns;
        // The sums of a single tile are still there.
        if (phase == 0 || !quantizes || passes == 2) {
          tile.multiply(matrix, a, b, sums, m0, n0);
          ptx::sync_block();
        }
        if (all.scales.d_type == kGemmI32)
          tile.write_integers(sums, m0, n0);
        else
          tile.write(sums, largest_of, phase == 0, quantizes, m0, n0, largest);
        ptx::sync_block();
      }
  }
  scaled_amax(args, all.scales.d_type, largest);
}

}  // namespace tw
