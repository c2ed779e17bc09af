// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes drawn by seed, so that results are reported on shapes that no choice of kernels has seen.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/gemm/gemm_sets.hpp"

namespace tw::bench {

/// `count` shapes of a class, the same for the same seed everywhere:
///   decode   m from 1 to 256, (n, k) of a model's layer, B column-major
///   prefill  m from 257 to 16,384, (n, k) alike
///   random   m, n and k multiples of 8, each order of A and B as likely
///   odd      `count` of decode and `count` of prefill with n and k changed by -31 to 31
///   large    m, n and k of 2,048 and more, of the class random: for sustained runs
/// An unknown class gives nothing.
std::vector<GemmShape> draw_gemm_shapes(const std::string& name, uint64_t seed, int count);

}  // namespace tw::bench
