// SPDX-License-Identifier: Apache-2.0
#pragma once
// The main loop of the mma.sync kernels for narrow types ("scaled" in names), of the gemm and the
// grouped family. Tiles have 32 x 128 elements. Threads convert elements on the way to shared
// memory: 8-bit floats to f16, which holds them exactly.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/epilogue/scaled_types.cuh"

namespace tw {

inline constexpr i32 kScaledRows = 32;
inline constexpr i32 kScaledColumns = 128;
inline constexpr i32 kScaledK = 32;
inline constexpr i32 kScaledThreads = 128;
inline constexpr i32 kScaledSumPitch = kScaledColumns + 8;  // floats: rows start eight banks apart

// How a type is loaded and multiplied. kWords 32-bit words in shared memory hold kScaledK elements
// of a line. put() converts one element, put_four() (only if kFours) four elements of a word.
// Integer accumulators (kIntegerSums) stay integers unless scales change along k. Other
// accumulators are added in f32 every kScaleDepth elements of k.

struct ScaledEights {
  using In = F8E4M3;
  using Storage = unsigned char;
  using Sum = float;
  static constexpr i32 kWords = kScaledK / 2;
  static constexpr bool kFours = true, kIntegerSums = false;
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
  static constexpr bool kFours = true, kIntegerSums = true;
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
  static constexpr bool kFours = false, kIntegerSums = false;
  static __device__ __forceinline__ void put(u32* line, i32 k, Storage value, u32) {
    line[k] = bits_of(rounded_to_tf32(value));
  }
  static __device__ __forceinline__ void put_four(u32*, i32, u32, u32) {}
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    Tf32::mma(d, a, b);
  }
};

// Words from line to line in shared memory. The padding puts a fragment's rows in different banks.
template <class Loads>
inline constexpr i32 kScaledPitch = Loads::kWords + 4;

// An operand in global memory. Lines are rows of A or columns of B.
struct ScaledOperand {
  u64 address;
  i64 line_stride, k_stride;
  i32 lines;
  u32 type;
};

// Loads elements k0 to k0 + kScaledK - 1 of kLines lines. Line i of the tile is line
// operand_line(i) of the operand. Elements outside the operand, or from k_end on, become zeros.
template <class Loads, i32 kLines, class First>
__device__ __forceinline__ void scaled_fetch(u32* shared, const ScaledOperand& from,
                                             First operand_line, i32 k0, i32 k_end) {
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
      const i32 source = operand_line(line);
      u32 values = 0;
      if (source < from.lines)
        values = *reinterpret_cast<const u32*>(global + source * from.line_stride + k0 + k);
      Loads::put_four(shared + line * kScaledPitch<Loads>, k, values, from.type);
    }
    return;
  }
#pragma unroll 4
  for (i32 i = 0; i < kLines * kScaledK / kScaledThreads; ++i) {
    const i32 item = i * kScaledThreads + thread;
    const i32 line = along_k ? item / kScaledK : item % kLines;
    const i32 k = along_k ? item % kScaledK : item / kLines;
    const i32 source = operand_line(line);
    Storage value = 0;
    if (source < from.lines && k0 + k < k_end)
      value = global[source * from.line_stride + (k0 + k) * from.k_stride];
    Loads::put(shared + line * kScaledPitch<Loads>, k, value, from.type);
  }
}

// A warp multiplies 32 columns of the tile with all of its rows.
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

// Calls visit(i, j, e) for each of a thread's accumulators d[i][j][e].
template <class Visit>
__device__ __forceinline__ void scaled_each(Visit visit) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 e = 0; e < 4; ++e) visit(i, j, e);
}
// Copies accumulators bit by bit between f32 and i32.
template <class To, class From>
__device__ __forceinline__ void scaled_copy_bits(To (&to)[2][4][4], const From (&from)[2][4][4]) {
  scaled_each([&](i32 i, i32 j, i32 e) { to[i][j][e] = __builtin_bit_cast(To, from[i][j][e]); });
}

// d += chain * of_a(row of the tile) * of_b(column of the tile), and clears `chain`.
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

// Accumulates a tile over k from `begin` to `end` - 1 and applies its scales. fetch(k) loads a step
// of k into `a` and `b`. promote(d, chain, block) adds scaled accumulators to d, for each block of
// k if scales change along k (`along_k`), otherwise once. With `integers` d receives the bits of
// the integer accumulators, without scales.
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
    } else if constexpr (!Loads::kIntegerSums) {
      scaled_each([&](i32 i, i32 j, i32 e) {
        d[i][j][e] += chain[i][j][e];
        chain[i][j][e] = 0.0f;
      });
    }
  }
  if (along_k || begin >= end) return;
  if constexpr (Loads::kIntegerSums) {
    if (integers) return scaled_copy_bits(d, chain);
  } else {
    scaled_copy_bits(chain, d);
    scaled_each([&](i32 i, i32 j, i32 e) { d[i][j][e] = 0.0f; });
  }
  promote(d, chain, 0);
}

// Stores a tile's accumulators to shared memory.
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

}  // namespace tw
