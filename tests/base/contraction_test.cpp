// SPDX-License-Identifier: Apache-2.0
// What the library is compiled with keeps products and sums apart, on machines with an instruction
// for both too: the host device's results would otherwise differ from one machine to the next.
#include "doctest_main.hpp"

namespace tw::test {
namespace {

template <class T>
T difference(T a, T b, T c) {
  return a * b - c;
}

TEST_CASE("a product is rounded before something is added to it") {
  // (1 + e)^2 is 1 + 2e + e^2, of which a rounded product has no e^2.
  volatile float single = 1 + 0x1p-12f, rounded_single = 1 + 0x1p-11f;
  CHECK(difference<float>(single, single, rounded_single) == 0);
  volatile double twice = 1 + 0x1p-27, rounded_twice = 1 + 0x1p-26;
  CHECK(difference<double>(twice, twice, rounded_twice) == 0);
}

}  // namespace
}  // namespace tw::test
