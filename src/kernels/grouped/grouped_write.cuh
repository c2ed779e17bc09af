// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of every grouped product, for eight adjacent elements of a row of D at a time.
//
// It has values of three levels, each computed once for everything that shares it:
//   GroupedTile         for a tile: all its rows have the same weight matrix
//   GroupedLine         for a row: where it goes in D, and its weight
//   eight accumulators  alpha, bias, activation or gate, the row's weight, one rounding
//
// Kernels keep accumulators in different places, so each passes a function that reads eight of
// them.

#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/grouped/grouped.h"
#include "kernels/ptx/reduce.cuh"

namespace tw {

/// The number of D's columns.
__device__ __forceinline__ i32 grouped_columns(const GroupedArgs& args) {
  return args.gate == kGateNone ? args.n : args.n / 2;
}

/// What depends on a tile's weight matrix alone.
struct GroupedTile {
  float alpha;
  u64 bias;  // of column 0; 0: none
};

/// `weight`: the result of grouped_weight(), which must not be negative.
__device__ __forceinline__ GroupedTile grouped_tile(const GroupedArgs& args, i32 weight) {
  GroupedTile tile = {args.alpha, args.bias};
  if (args.group_alpha != 0) tile.alpha *= reinterpret_cast<const float*>(args.group_alpha)[weight];
  if (args.bias != 0)
    tile.bias += static_cast<u64>(weight * args.bias_stride * (args.bias_f32 == 1 ? 4 : 2));
  return tile;
}

/// What depends on the row alone.
struct GroupedLine {
  u64 d;  // address of its element in column 0 of D; 0: the row is not written
  float weight;
};

/// Row `r` must belong to a group. `bytes`: of an element of D.
__device__ __forceinline__ GroupedLine grouped_line(const GroupedArgs& args, i32 r, i64 bytes) {
  const i32 row = grouped_d_row(args, r);
  if (row < 0) return {0, 0.0f};
  return {args.d + static_cast<u64>(row * args.d_pitch * bytes), grouped_row_weight(args, r, true)};
}
template <class Out>
__device__ __forceinline__ GroupedLine grouped_line(const GroupedArgs& args, i32 r) {
  return grouped_line(args, r, i64{Out::kBytes});
}

/// Atomic additions to D of one, two or eight elements, or of a 16-byte piece.
template <class Out>
struct GroupedAdd;
template <>
struct GroupedAdd<F32> {
  static __device__ __forceinline__ void one(u64 to, float v) { ptx::reduce_add_f32(to, v); }
  static __device__ __forceinline__ void eight(u64 to, const float (&v)[8]) {
    const float low[4] = {v[0], v[1], v[2], v[3]}, high[4] = {v[4], v[5], v[6], v[7]};
    ptx::reduce_add_v4_f32(to, low);
    ptx::reduce_add_v4_f32(to + 16, high);
  }
  static __device__ __forceinline__ void piece(u64 to, uint4 v) {
    const float four[4] = {__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z),
                           __uint_as_float(v.w)};
    ptx::reduce_add_v4_f32(to, four);
  }
};
template <>
struct GroupedAdd<Bf16> {
  static __device__ __forceinline__ void one(u64 to, float v) {
    ptx::reduce_add_bf16(to, Bf16::from_float(v));
  }
  static __device__ __forceinline__ void two(u64 to, float low, float high) {
    ptx::reduce_add_bf16x2(to, Bf16::pack(low, high));
  }
  static __device__ __forceinline__ void piece(u64 to, uint4 v) {
    ptx::reduce_add_v4_bf16x2(to, v);
  }
  static __device__ __forceinline__ void eight(u64 to, const float (&v)[8]) {
    ptx::reduce_add_v4_bf16x2(to, make_uint4(Bf16::pack(v[0], v[1]), Bf16::pack(v[2], v[3]),
                                             Bf16::pack(v[4], v[5]), Bf16::pack(v[6], v[7])));
  }
};
template <>
struct GroupedAdd<F16> {
  static __device__ __forceinline__ void one(u64 to, float v) {
    ptx::reduce_add_f16(to, F16::from_float(v));
  }
  static __device__ __forceinline__ void two(u64 to, float low, float high) {
    ptx::reduce_add_f16x2(to, F16::pack(low, high));
  }
  static __device__ __forceinline__ void piece(u64 to, uint4 v) { ptx::reduce_add_v4_f16x2(to, v); }
  static __device__ __forceinline__ void eight(u64 to, const float (&v)[8]) {
    ptx::reduce_add_v4_f16x2(to, make_uint4(F16::pack(v[0], v[1]), F16::pack(v[2], v[3]),
                                            F16::pack(v[4], v[5]), F16::pack(v[6], v[7])));
  }
};

/// Adds eight adjacent elements, of which `count` are in D, by the widest operation that the
/// address allows.
template <class Out>
__device__ __forceinline__ void grouped_add(u64 address, i32 count, const float (&v)[8]) {
  if (count >= 8 && address % 16 == 0) return GroupedAdd<Out>::eight(address, v);
  if constexpr (Out::kBytes == 2) {
    if (address % 4 == 0) {
#pragma unroll
      for (i32 i = 0; i < 8; i += 2) {
        if (i + 1 < count)
          GroupedAdd<Out>::two(address + static_cast<u64>(i) * 2, v[i], v[i + 1]);
        else if (i < count)
          GroupedAdd<Out>::one(address + static_cast<u64>(i) * 2, v[i]);
      }
      return;
    }
  }
#pragma unroll
  for (i32 i = 0; i < 8; ++i)
    if (i < count) GroupedAdd<Out>::one(address + static_cast<u64>(i) * Out::kBytes, v[i]);
}

/// The column of B for column `at` of D, and the step from it to that of the next column of D.
__device__ __forceinline__ FullPlace grouped_place(const GroupedArgs& args, i32 at, bool second) {
  return full_place(FullGate{args.gate, 0, args.n / 2}, 0, at, second);
}

/// The bias of eight of D's columns; -0, which changes no sum, if there is none.
template <class In>
__device__ __forceinline__ void grouped_bias(const GroupedArgs& args, const GroupedTile& tile,
                                             i32 at, i32 count, bool second, float (&bias)[8]) {
#pragma unroll
  for (float& value : bias) value = -0.0f;
  if (tile.bias == 0) return;
  const FullPlace place = grouped_place(args, at, second);
  if (In::kBytes != 2 && args.bias_f32 == kBiasF16)
    full_load<F16>(tile.bias + static_cast<u64>(place.at) * 2, place.step, count, bias);
  else if (args.bias_f32)
    full_load<F32>(tile.bias + static_cast<u64>(place.at) * 4, place.step, count, bias);
  else
    full_load<FullBias<In>>(tile.bias + static_cast<u64>(place.at) * 2, place.step, count, bias);
}

template <u32 kWhich>
__device__ __forceinline__ void grouped_gates(const GroupedArgs& args, float (&v)[8],
                                              const float (&linear)[8]) {
#pragma unroll
  for (i32 i = 0; i < 8; ++i) v[i] = grouped_gate(args, kWhich, v[i], linear[i]);
}

/// Computes eight elements of a row of D before they are rounded. take(second, v) reads the
/// accumulators, take_bias(second, bias) their bias. `second`: the gated values instead of the
/// gates.
template <class Take, class TakeBias>
__device__ __forceinline__ void grouped_values(const GroupedArgs& args, const GroupedTile& tile,
                                               const GroupedLine& line, Take take,
                                               TakeBias take_bias, float (&v)[8]) {
  float other[8];
  const auto before = [&](bool second, float(&sums)[8]) {
    float bias[8];
    take(second, sums);
    take_bias(second, bias);
#pragma unroll
    for (i32 i = 0; i < 8; ++i) sums[i] = act::fused(tile.alpha, sums[i], bias[i]);
  };
  before(false, v);
  if (args.gate == kGateNone) {
    if (args.activation == kActRelu) full_activate<kActRelu>(v);
    if (args.activation == kActGelu) full_activate<kActGelu>(v);
    if (args.activation == kActGeluTanh) full_activate<kActGeluTanh>(v);
    if (args.activation == kActSilu) full_activate<kActSilu>(v);
  } else {
    before(true, other);
    if (args.activation == kActIdentity) grouped_gates<kActIdentity>(args, v, other);
    if (args.activation == kActRelu) grouped_gates<kActRelu>(args, v, other);
    if (args.activation == kActGelu) grouped_gates<kActGelu>(args, v, other);
    if (args.activation == kActGeluTanh) grouped_gates<kActGeluTanh>(args, v, other);
    if (args.activation == kActSilu) grouped_gates<kActSilu>(args, v, other);
  }
  if (args.row_weights != 0) {
#pragma unroll
    for (float& value : v) value *= line.weight;
  }
}

/// Stores or adds eight adjacent elements, of which `count` are in D.
template <class Out>
__device__ __forceinline__ void grouped_put_eight(const GroupedArgs& args, u64 to, i32 count,
                                                  const float (&v)[8]) {
  if (args.out == kRowsAdded)
    grouped_add<Out>(to, count, v);
  else
    full_store<Out>(to, count, v);
}

/// Computes and writes eight elements of a row of D from column `at` on, of which `count` are in D.
template <class Out, class Take, class TakeBias>
__device__ __forceinline__ void grouped_write(const GroupedArgs& args, const GroupedTile& tile,
                                              const GroupedLine& line, i32 at, i32 count, Take take,
                                              TakeBias take_bias) {
  if (line.d == 0) return;
  float v[8];
  grouped_values(args, tile, line, take, take_bias, v);
  grouped_put_eight<Out>(args, line.d + static_cast<u64>(at) * Out::kBytes, count, v);
}

/// The same with the bias from memory.
template <class In, class Out, class Take>
__device__ __forceinline__ void grouped_write(const GroupedArgs& args, const GroupedTile& tile,
                                              const GroupedLine& line, i32 at, i32 count,
                                              Take take) {
  grouped_write<Out>(args, tile, line, at, count, take, [&](bool second, float(&bias)[8]) {
    grouped_bias<In>(args, tile, at, count, second, bias);
  });
}

/// Writes eight adjacent elements of a row of D if groups are ranges of k.
__device__ __forceinline__ void ranges_write(const GroupedArgs& args, u64 address, i32 count,
                                             const float* sums) {
  float v[8], before[8] = {};
  if (args.beta != 0.0f) full_load<F32>(address, 1, count, before);
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    // If beta is 0, add -0: adding +0 would turn a product of -0 into +0.
    const float addend = args.beta != 0.0f ? args.beta * before[i] : -0.0f;
    v[i] = act::fused(args.alpha, sums[i], addend);
  }
  full_store<F32>(address, count, v);
}

}  // namespace tw
