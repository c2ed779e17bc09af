// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether strided sets of addresses meet: exact where a bounded search decides it.

#include <cstdint>

namespace tw {

/// A dimension of an address set: multiples 0 to count - 1 of step. Both are positive.
struct StridedTerm {
  int64_t step;
  int64_t count;
};

enum class Meets { no, yes, undecided };

inline constexpr int32_t kMaxTerms = 16;
/// Nodes of the search that a plan or run may spend: some tens of microseconds.
inline constexpr int64_t kSearchBudget = 20000;

/// Whether a sum of one multiple of each term lies in [low, high]. Sums must fit 62 bits. Reorders
/// the terms; `budget` is what is left for several calls.
Meets sums_meet(StridedTerm* terms, int32_t count, int64_t low, int64_t high, int64_t* budget);

/// Whether two different coordinates of the set are less than `width` apart: whether elements of
/// that many bytes share one.
Meets shares_elements(const StridedTerm* terms, int32_t count, int64_t width, int64_t* budget);

}  // namespace tw
