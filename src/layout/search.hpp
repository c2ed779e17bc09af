// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches for numbers 0 <= c_i < s_i for which the sum of c_i * d_i has a given value. This
// answers which coordinate has an index, and whether two coordinates share one.

#include <cstdint>

#include "layout/radix.hpp"

namespace tw {

struct Search {
  static constexpr int64_t kMaxSteps = int64_t{1} << 22;

  int count = 0;
  int64_t extent[kMaxLeaves];
  int64_t stride[kMaxLeaves];
  int64_t found[kMaxLeaves];  ///< the solution that is smallest as a linear coordinate
  int64_t max_steps = kMaxSteps;
  int64_t steps = 0;

  void add(int64_t e, int64_t d) {
    extent[count] = e;
    stride[count++] = d;
  }
  /// Returns false if there is no solution or if the search gave up after max_steps.
  bool solve(Wide sum);
  bool gave_up() const { return steps > max_steps; }

 private:
  bool reachable(int leaves, Wide rest) const;
  bool descend(int leaves, Wide rest);
  // Bounds and greatest common divisor of the sums that the first i numbers can reach.
  Wide low_[kMaxLeaves + 1];
  Wide high_[kMaxLeaves + 1];
  uint64_t gcd_[kMaxLeaves + 1];  // unsigned, because a stride may be -2^63
};

}  // namespace tw
