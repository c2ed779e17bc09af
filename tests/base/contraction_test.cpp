// SPDX-License-Identifier: Apache-2.0
// The library is compiled without floating-point contraction (no fused multiply-add). Otherwise the
// host device's results would differ between machines with and without an FMA instruction.
#include "doctest_main.hpp"

namespace tw::test {
namespace {

template <class T>
T difference(T a, T b, T c) {
  return a * b - c;
}

TEST_CASE("a product is rounded before something is added to it") {
  // (1 + e)^2 = 1 + 2e + e^2. Rounding the product drops e^2, which an FMA would keep.
  volatile float single = 1 + 0x1p-12f, rounded_single = 1 + 0x1p-11f;
  CHECK(difference<float>(single, single, rounded_single) == 0);
  volatile double twice = 1 + 0x1p-27, rounded_twice = 1 + 0x1p-26;
  CHECK(difference<double>(twice, twice, rounded_twice) == 0);
}

}  // namespace
}  // namespace tw::test
