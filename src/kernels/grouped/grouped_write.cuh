// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of every grouped product, for eight neighboring elements of a row of D at a time.
//
// The epilogue computes at three levels, each as seldom as possible:
//   GroupedAlphaBias    per tile: alpha and bias, because a tile has one weight matrix
//   GroupedRowTarget    per row: its address in D and its weight
//   eight accumulators  per access: alpha, bias, activation or gate, the row's weight, one rounding
//
// Kernels keep their accumulators in different places, so they pass a function that fetches eight.
// With a gate, an element of D is computed from a gate element and a linear element (what the gemm
// family calls the value element): it is about activation(gate) * linear, see grouped_gate().
// "full" in names marks code of the gemm family's epilogue kernels: full_load() loads the first
// `count` of eight elements.

#include "kernels/common/convert.h"
#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/grouped/grouped.h"
#include "kernels/ptx/reduce.cuh"

namespace tw {

/// Columns of D.
__device__ __forceinline__ i32 grouped_columns(const GroupedArgs& args) {
  return args.gate == kGateNone ? args.n : args.n / 2;
}

struct GroupedAlphaBias {
  float alpha;
  u64 bias;  // address of the bias of column 0 of B; 0: none
};

/// `weight_index` is the result of grouped_weight_index() and must not be negative.
__device__ __forceinline__ GroupedAlphaBias grouped_alpha_bias(const GroupedArgs& args,
                                                               i32 weight_index) {
  GroupedAlphaBias out = {args.alpha, args.bias};
  if (args.group_alpha != 0)
    out.alpha *= reinterpret_cast<const float*>(args.group_alpha)[weight_index];
  if (args.bias != 0)
    out.bias +=
        static_cast<u64>(weight_index * args.bias_stride * (args.bias_type == kBiasF32 ? 4 : 2));
  return out;
}

struct GroupedRowTarget {
  u64 address;  // of the row's element in column 0 of D; 0: the row is not written
  float weight;
};

/// Row `r` must belong to a group. `bytes` is the size of D's elements.
__device__ __forceinline__ GroupedRowTarget grouped_row_target(const GroupedArgs& args, i32 r,
                                                               i64 bytes) {
  const i32 row = grouped_d_row(args, r);
  if (row < 0) return {0, 0.0f};
  return {args.d + static_cast<u64>(row * args.d_pitch * bytes), grouped_row_weight(args, r, true)};
}
template <class Out>
__device__ __forceinline__ GroupedRowTarget grouped_row_target(const GroupedArgs& args, i32 r) {
  return grouped_row_target(args, r, i64{Out::kBytes});
}

/// Atomic additions to D of one, two or eight elements, or of 16 packed bytes (piece).
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

/// Adds the first `count` of eight neighboring elements to D by the widest atomic that the address
/// allows.
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

/// The column of B for column `column` of D, and the step to the column of B for the next column of
/// D. With a gate `linear` selects the linear column instead of the gate column.
__device__ __forceinline__ FullPlace grouped_b_columns(const GroupedArgs& args, i32 column,
                                                       bool linear) {
  return full_place(FullGate{args.gate, 0, args.n / 2}, 0, column, linear);
}

/// The bias of eight columns of D from `column` on. Without a bias it is -0, which changes no
/// accumulator. `linear` is as in grouped_b_columns().
template <class In>
__device__ __forceinline__ void grouped_bias(const GroupedArgs& args,
                                             const GroupedAlphaBias& alpha_bias, i32 column,
                                             i32 count, bool linear, float (&bias)[8]) {
#pragma unroll
  for (float& value : bias) value = -0.0f;
  if (alpha_bias.bias == 0) return;
  const FullPlace place = grouped_b_columns(args, column, linear);
  if (In::kBytes != 2 && args.bias_type == kBiasF16)
    full_load<F16>(alpha_bias.bias + static_cast<u64>(place.at) * 2, place.step, count, bias);
  else if (args.bias_type != kBiasAsInput)
    full_load<F32>(alpha_bias.bias + static_cast<u64>(place.at) * 4, place.step, count, bias);
  else
    full_load<FullBias<In>>(alpha_bias.bias + static_cast<u64>(place.at) * 2, place.step, count,
                            bias);
}

/// Replaces eight gate elements, in v, by gated elements.
template <u32 kActivation>
__device__ __forceinline__ void grouped_apply_gate(const GroupedArgs& args, float (&v)[8],
                                                   const float (&linear)[8]) {
#pragma unroll
  for (i32 i = 0; i < 8; ++i) v[i] = grouped_gate(args, kActivation, v[i], linear[i]);
}

/// Computes eight elements of a row of D before rounding. fetch(linear, v) fetches accumulators and
/// fetch_bias(linear, bias) their bias; `linear` selects the linear elements of a gated product.
template <class Fetch, class FetchBias>
__device__ __forceinline__ void grouped_values(const GroupedArgs& args,
                                               const GroupedAlphaBias& alpha_bias,
                                               const GroupedRowTarget& row, Fetch fetch,
                                               FetchBias fetch_bias, float (&v)[8]) {
  const auto apply_alpha_bias = [&](bool is_linear, float(&out)[8]) {
    float bias[8];
    fetch(is_linear, out);
    fetch_bias(is_linear, bias);
#pragma unroll
    for (i32 i = 0; i < 8; ++i) out[i] = act::fused(alpha_bias.alpha, out[i], bias[i]);
  };
  apply_alpha_bias(false, v);
  if (args.gate == kGateNone) {
    if (args.activation == kActRelu) full_activate<kActRelu>(v);
    if (args.activation == kActGelu) full_activate<kActGelu>(v);
    if (args.activation == kActGeluTanh) full_activate<kActGeluTanh>(v);
    if (args.activation == kActSilu) full_activate<kActSilu>(v);
  } else {
    float linear[8];
    apply_alpha_bias(true, linear);
    if (args.activation == kActIdentity) grouped_apply_gate<kActIdentity>(args, v, linear);
    if (args.activation == kActRelu) grouped_apply_gate<kActRelu>(args, v, linear);
    if (args.activation == kActGelu) grouped_apply_gate<kActGelu>(args, v, linear);
    if (args.activation == kActGeluTanh) grouped_apply_gate<kActGeluTanh>(args, v, linear);
    if (args.activation == kActSilu) grouped_apply_gate<kActSilu>(args, v, linear);
  }
  if (args.row_weights != 0) {
#pragma unroll
    for (float& value : v) value *= row.weight;
  }
}

/// Stores the first `count` of eight neighboring elements in D, or adds them to D.
template <class Out>
__device__ __forceinline__ void grouped_store_or_add(const GroupedArgs& args, u64 to, i32 count,
                                                     const float (&v)[8]) {
  if (args.row_output == kRowsAddedAtomically)
    grouped_add<Out>(to, count, v);
  else
    full_store<Out>(to, count, v);
}

/// The same for a D whose type, f32, f16 or bf16, the arguments select.
__device__ __forceinline__ void grouped_store_or_add(const GroupedArgs& args, u32 type, u64 to,
                                                     i32 count, const float (&v)[8]) {
  if (type == kFormatF32) return grouped_store_or_add<F32>(args, to, count, v);
  if (type == kFormatF16) return grouped_store_or_add<F16>(args, to, count, v);
  grouped_store_or_add<Bf16>(args, to, count, v);
}

/// Computes eight elements of a row of D from `column` on, and writes the first `count` of them.
template <class In, class Out, class Fetch>
__device__ __forceinline__ void grouped_write_eight(const GroupedArgs& args,
                                                    const GroupedAlphaBias& alpha_bias,
                                                    const GroupedRowTarget& row, i32 column,
                                                    i32 count, Fetch fetch) {
  if (row.address == 0) return;
  float v[8];
  grouped_values(
      args, alpha_bias, row, fetch,
      [&](bool linear, float(&bias)[8]) {
        grouped_bias<In>(args, alpha_bias, column, count, linear, bias);
      },
      v);
  grouped_store_or_add<Out>(args, row.address + static_cast<u64>(column) * Out::kBytes, count, v);
}

/// Writes the first `count` of eight neighboring elements of D for groups that are ranges of k.
__device__ __forceinline__ void ranges_write_eight(const GroupedArgs& args, u64 address, i32 count,
                                                   const float* accumulators) {
  float v[8], old[8] = {};
  if (args.beta != 0.0f) full_load<F32>(address, 1, count, old);
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    // With beta 0 add -0, not +0, which would turn a product of -0 into +0.
    const float addend = args.beta != 0.0f ? args.beta * old[i] : -0.0f;
    v[i] = act::fused(args.alpha, accumulators[i], addend);
  }
  full_store<F32>(address, count, v);
}

}  // namespace tw
