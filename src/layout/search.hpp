// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search for numbers 0 <= c_i < s_i with sum of c_i * d_i = a wanted sum: the question behind
// "which coordinate has this index" and "do two coordinates share one".

#include <cstdint>

#include "layout/radix.hpp"

namespace tw {

struct Search {
  static constexpr int64_t kMaxSteps = int64_t{1} << 22;

  int count = 0;
  int64_t extent[kMaxLeaves];
  int64_t stride[kMaxLeaves];
  int64_t found[kMaxLeaves];  ///< the answer: of all answers the smallest as a linear coordinate
  int64_t most_steps = kMaxSteps;
  int64_t steps = 0;

  void add(int64_t e, int64_t d) {
    extent[count] = e;
    stride[count++] = d;
  }
  /// False where there is no answer, or where more than most_steps were needed to look for one.
  bool solve(Wide sum);
  bool gave_up() const { return steps > most_steps; }

 private:
  bool reachable(int leaves, Wide rest) const;
  bool descend(int leaves, Wide rest);
  // What numbers 0..i-1 reach together: an interval, and multiples of a greatest common divisor.
  Wide low_[kMaxLeaves + 1];
  Wide high_[kMaxLeaves + 1];
  uint64_t gcd_[kMaxLeaves + 1];  // of strides down to -2^63
};

}  // namespace tw
