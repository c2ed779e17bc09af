// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that gemm is measured on, by set, and the classes for which speed is stated.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/gemm/gemm.hpp"

namespace tw::bench {

/// What a launch does besides multiplying.
struct GemmFusion {
  const char* name = "";  ///< "": nothing
  GemmEpilogue epilogue;
  float alpha = 1.0f, beta = 0.0f;

  bool any() const { return *name != 0; }
  bool reads_c() const { return beta != 0.0f; }
  bool gates() const { return epilogue.gate != Gate::none; }
  /// Whether cuBLASLt's epilogues include all of it.
  bool in_cublaslt() const {
    return !gates() && epilogue.d_factor == Per::none && !epilogue.amax &&
           (epilogue.bias == Per::none || epilogue.bias == Per::column) &&
           (epilogue.activation == Activation::identity ||
            epilogue.activation == Activation::relu ||
            epilogue.activation == Activation::gelu_tanh);
  }
};

struct GemmShape {
  const char* set = "";
  int64_t m = 0, n = 0, k = 0;
  Order a_order = Order::row, b_order = Order::column;
  bool f32_out = false;
  bool accumulate = false;  // D += A B
  int32_t batch = 1;        // packed products
  GemmFusion fusion;

  double flops() const { return 2.0 * batch * static_cast<double>(m * n) * static_cast<double>(k); }
  int32_t out_bytes() const { return f32_out ? 4 : 2; }
  /// Bytes of a matrix of m x n elements for each product, as C is, and D without a gate.
  double result_bytes() const { return static_cast<double>(m * n) * out_bytes() * batch; }
  /// Bytes of A, B, C and D, with D twice if it is also read.
  double bytes() const {
    const double matrices =
        (fusion.gates() ? 0.5 : 1) + (accumulate ? 1 : 0) + (fusion.reads_c() ? 1 : 0);
    return 2.0 * batch * static_cast<double>(m * k + k * n) + matrices * result_bytes();
  }
};

/// The shapes of a set of gemm_set_names(); nothing for an unknown name.
std::vector<GemmShape> gemm_set(const std::string& name);
const std::vector<std::string>& gemm_set_names();

/// Wanted speed is stated for classes of shapes. A shape may belong to several classes, or none.
struct GemmClass {
  const char* name;
  double mean, least;  ///< geometric mean and minimum of the peer's time over ours
  std::function<bool(const GemmShape& shape, int32_t sms)> has;
};
const std::vector<GemmClass>& gemm_classes();

}  // namespace tw::bench
