// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of the host bodies: from the sums of one matrix of a batch to its D.
// "full" in names marks code of the epilogue kernels.

#include <algorithm>

#include "kernels/gemm/arguments/gemm_live.h"
#include "kernels/gemm/host/gemm_host_tile.hpp"

namespace tw::gemm_host {

inline float f32_at(u64 address, i64 element = 0) {
  return read_element(global(address, element, 4), DType::F32);
}

// A launch's epilogue, the matrix of the batch that select_matrix() selected last, and the largest
// |D| so far.
struct FullJob {
  const GemmEpilogueArgs& args;
  const GemmArgs& base;
  DType in, out, bias_type{};
  bool largest_before_d_factor = false;
  int32_t in_bytes, out_bytes;
  GemmEffectiveSizes sizes;
  i32 lines, extent;  // of the selected product's D; no lines if it is skipped
  float alpha, beta, d_factor;
  GemmMatrix matrix{};
  u32 largest = 0;

  explicit FullJob(const GemmEpilogueArgs& a)
      : args(a),
        base(a.base),
        in(static_cast<DType>(a.base.host_in)),
        out(static_cast<DType>(a.base.host_out)),
        in_bytes(dtype_bytes(in)),
        out_bytes(dtype_bytes(out)),
        sizes(gemm_effective_sizes(a, kHostTile, kHostTile)),
        lines(sizes.m),
        extent(sizes.n),
        alpha(gemm_scalar(a.device_alpha, a.base.alpha)),
        beta(gemm_scalar(a.device_beta, a.base.beta)),
        d_factor(gemm_scalar(a.d_factor_by == kFullSingle ? a.d_factor : 0, a.d_factor_value)) {
    const bool narrow = in != DType::BF16 && in != DType::F16;
    bias_type = args.bias_type == kBiasF32   ? DType::F32
                : args.bias_type == kBiasF16 ? DType::F16
                : narrow                     ? DType::BF16
                                             : in;
    largest_before_d_factor = out == DType::F8E4M3 || out == DType::F8E5M2;
  }
  void select_matrix(i32 z) {
    matrix = gemm_matrix(args, z, in_bytes, out_bytes);
    lines = sizes.m;
    extent = sizes.n;
    if (args.gate != kGateNone) (args.gate_across ? lines : extent) = args.half;
    if (matrix.d == 0) lines = 0;
  }
  // v, the input of the activation: alpha * sum + beta * C + bias.
  float linear(float sum, FullPlace place) const {
    float bias = -0.0f;
    if (args.bias_by != kFullNone) {
      const i32 element = args.bias_by == kFullPerElement ? place.at : place.line;
      bias = read_element(global(args.bias, element, dtype_bytes(bias_type)), bias_type);
    }
    float added = 0.0f;
    if (beta != 0.0f)
      added =
          read_element(global(matrix.c, place.line * base.c_stride_m + place.at, out_bytes), out);
    return beta != 0.0f ? before_activation(alpha, sum, beta, added, bias)
                        : act::fused(alpha, sum, bias);
  }
  void raise_largest(float value) {
    if (args.amax) largest = std::max(largest, act::bits(value) & 0x7fffffffu);
  }
  // D's element (line, place) before rounding. sum_at(place in v, second) returns the sum of
  // products for a gate element, or for a value element (`second`). For 8-bit floats, amax is the
  // largest magnitude before d_factor.
  template <class SumAt>
  float value_of(i32 line, i32 place, SumAt sum_at) {
    const FullPlace first = full_place(args, line, place, false);
    float value = activate(args.activation, linear(sum_at(first, false), first));
    if (args.gate != kGateNone) {
      const FullPlace second = full_place(args, line, place, true);
      value *= linear(sum_at(second, true), second);
    }
    if (largest_before_d_factor) raise_largest(value);
    if (args.d_factor_by == kFullSingle) value *= d_factor;
    if (args.d_factor_by == kFullPerElement) value *= f32_at(args.d_factor, place);
    if (args.d_factor_by == kFullPerLine) value *= f32_at(args.d_factor, line);
    return value;
  }
  void put(i32 line, i32 place, float value) {
    auto* to = const_cast<uint8_t*>(global(matrix.d, line * base.d_stride_m + place, out_bytes));
    write_element(to, out, value);
    if (!largest_before_d_factor) raise_largest(read_element(to, out));
  }
  template <class SumAt>
  void write(i32 line, i32 place, SumAt sum_at) {
    put(line, place, value_of(line, place, sum_at));
  }
  void finish() const {
    if (!args.amax) return;
    auto* word = const_cast<uint8_t*>(global(args.amax, 0, 4));
    const u32 now = std::max(largest, act::bits(f32_at(args.amax)));
    std::memcpy(word, &now, 4);
  }
};

}  // namespace tw::gemm_host
