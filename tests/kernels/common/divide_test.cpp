// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/divide.h"

#include <random>

#include "doctest_main.hpp"

using namespace tw;

TEST_CASE("divide: quotients are exact below 2^31, at the multiples' edges above all") {
  std::mt19937_64 random(1);
  int64_t wrong = 0;
  const auto check = [&](u32 number, u32 by) {
    if (number < kDividerLimit && divide(number, make_divider(by)) != number / by) ++wrong;
  };
  for (int i = 0; i < 200000; ++i) {
    const u32 by = 1 + static_cast<u32>(random() % (1ull << (1 + random() % 31)));
    const u32 number = static_cast<u32>(random() % kDividerLimit);
    check(number, by);
    check(number / by * by, by);
    check(number / by * by + by - 1, by);
    check(static_cast<u32>(kDividerLimit - 1), by);
    check(0, by);
  }
  for (u32 log = 0; log < 32; ++log)
    for (const u32 by : {(1u << log) - (log > 0), 1u << log, (1u << log) + (log < 31)})
      for (const u32 number : {0u, by - 1, by, by + 1, 0x7fffffffu}) check(number, by);
  CHECK(wrong == 0);
}
