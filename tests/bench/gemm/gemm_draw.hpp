// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes drawn by seed, so that reported results are for shapes that no tuning has seen.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/gemm/gemm_sets.hpp"

namespace tw::bench {

/// `count` shapes of a class. The same seed gives the same shapes on every platform.
///   decode   m from 1 to 256, (n, k) of a model's layer, B column-major
///   prefill  m from 257 to 16,384, otherwise as decode
///   random   m, n and k multiples of 8, all orders of A and B equally likely
///   odd      `count` decode and `count` prefill shapes with n and k changed by -31 to 31
///   large    random shapes with m, n and k of at least 2,048, for sustained runs
///   epi-d    decode with an epilogue that cuBLASLt has; epi-p: prefill with one
///   oth-d    decode with an epilogue for which others need a second kernel; oth-p: prefill with
///   one bat-d    decode in batches of 2 to 64, with extents halved until the product (batch m n k)
///   is
///            below 10^12 and all matrices together have less than 4 GB; bat-p: prefill
/// Returns nothing for an unknown class.
std::vector<GemmShape> draw_gemm_shapes(const std::string& name, uint64_t seed, int count);

}  // namespace tw::bench
