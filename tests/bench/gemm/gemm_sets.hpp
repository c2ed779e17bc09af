// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that gemm is measured on, by set, and the classes for which speed is stated.

#include <cstdint>
#include <string>
#include <vector>

#include "ops/gemm/gemm.hpp"

namespace tw::bench {

struct GemmShape {
  const char* set = "";
  int64_t m = 0, n = 0, k = 0;
  Order a_order = Order::row, b_order = Order::column;
  bool f32_out = false;
  bool accumulate = false;  // D += A B

  double flops() const { return 2.0 * static_cast<double>(m * n) * static_cast<double>(k); }
  int32_t out_bytes() const { return f32_out ? 4 : 2; }
  /// Bytes of A, B and D, with D twice if it is also read.
  double bytes() const {
    return 2.0 * static_cast<double>(m * k + k * n) +
           static_cast<double>(m * n) * out_bytes() * (accumulate ? 2 : 1);
  }
};

/// The shapes of a set of gemm_set_names(); nothing for an unknown name.
std::vector<GemmShape> gemm_set(const std::string& name);
const std::vector<std::string>& gemm_set_names();

/// Wanted speed is stated for classes of shapes. A shape may belong to several classes, or none.
struct GemmClass {
  const char* name;
  double mean, least;  ///< geometric mean and minimum of the peer's time over ours
  bool (*has)(const GemmShape& shape, int32_t sms);
};
const std::vector<GemmClass>& gemm_classes();

}  // namespace tw::bench
