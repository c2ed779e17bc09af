// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides whether strided sets of addresses intersect. Exact unless a bounded search runs out.

#include <cstdint>

namespace tw {

/// A dimension of an address set: the multiples 0 to count - 1 of `step`. Both are positive.
struct StridedTerm {
  int64_t step;
  int64_t count;
};

enum class Intersection { no, yes, undecided };

inline constexpr int32_t kMaxTerms = 16;
/// Search nodes that a plan or a run may spend; they take some tens of microseconds.
inline constexpr int64_t kSearchBudget = 20000;

/// Returns whether a sum of one multiple of each term lies in [low, high]. Sums must fit in 62
/// bits. Reorders the terms. Several calls may share `*budget`, from which each subtracts its
/// nodes.
Intersection sums_intersect(StridedTerm* terms, int32_t count, int64_t low, int64_t high,
                            int64_t* budget);

/// Returns whether two different coordinates of the set are less than `width` apart, that is,
/// whether two elements of `width` bytes overlap.
Intersection shares_elements(const StridedTerm* terms, int32_t count, int64_t width,
                             int64_t* budget);

}  // namespace tw
