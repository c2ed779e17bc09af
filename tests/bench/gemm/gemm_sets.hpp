// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes that gemm is measured on, by set, and the classes that its bars are stated for.

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
  /// A, B and D once, and D again where it is read.
  double bytes() const {
    return 2.0 * static_cast<double>(m * k + k * n) +
           static_cast<double>(m * n) * out_bytes() * (accumulate ? 2 : 1);
  }
};

/// SQ, KS, DS, LL, DEC, BWD, ODD-M, ODD-8, ODD-1, ODD-PEER, TINY; an unknown name gives nothing.
std::vector<GemmShape> gemm_set(const std::string& name);
/// Names that gemm_set() knows.
const std::vector<std::string>& gemm_set_names();

/// Figures of speed are stated for classes of shapes. A shape belongs to none, one or two.
struct GemmClass {
  const char* name;
  double mean, least;  ///< geometric mean and minimum of the peer's time over ours
  bool (*has)(const GemmShape& shape, int32_t sms);
};
const std::vector<GemmClass>& gemm_classes();

}  // namespace tw::bench
