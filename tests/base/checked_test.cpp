// SPDX-License-Identifier: Apache-2.0
#include "base/checked.hpp"

#include <limits>

#include "doctest_main.hpp"

namespace tw {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
__extension__ using Int128 = __int128;

TEST_CASE("checked arithmetic gives the exact answer or says overflow") {
  // 128-bit arithmetic is the reference.
  const int64_t values[] = {kMin, kMin + 1, -(int64_t{1} << 32), -3,         -1,       0,
                            1,    2,        int64_t{1} << 31,    3037000500, kMax - 1, kMax};
  const auto fits = [](Int128 v) { return v >= kMin && v <= kMax; };
  for (const int64_t a : values) {
    for (const int64_t b : values) {
      CAPTURE(a);
      CAPTURE(b);
      int64_t out = 0;
      const Int128 sum = static_cast<Int128>(a) + b;
      CHECK(checked_add(a, b, &out) == fits(sum));
      if (fits(sum)) CHECK(out == static_cast<int64_t>(sum));
      const Int128 difference = static_cast<Int128>(a) - b;
      CHECK(checked_sub(a, b, &out) == fits(difference));
      if (fits(difference)) CHECK(out == static_cast<int64_t>(difference));
      const Int128 product = static_cast<Int128>(a) * b;
      CHECK(checked_mul(a, b, &out) == fits(product));
      if (fits(product)) CHECK(out == static_cast<int64_t>(product));
    }
  }
}

TEST_CASE("rounding up") {
  CHECK(round_up(0, 16) == 0);
  CHECK(round_up(1, 16) == 16);
  CHECK(round_up(16, 16) == 16);
  CHECK(round_up(17, 16) == 32);
  CHECK(ceil_div(0, 128) == 0);
  CHECK(ceil_div(1, 128) == 1);
  CHECK(ceil_div(128, 128) == 1);
  CHECK(ceil_div(129, 128) == 2);
}

}  // namespace
}  // namespace tw
