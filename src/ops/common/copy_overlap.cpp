// SPDX-License-Identifier: Apache-2.0
#include "ops/common/copy_overlap.hpp"

#include <algorithm>
#include <numeric>

namespace tw {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t ceil_div_signed(int64_t a, int64_t b) {
  return -floor_div(-a, b);
}

// Depth-first search, largest step first. The remaining smaller terms reach only a short distance,
// so few multiples of a term are possible at each depth.
class Search {
 public:
  Search(StridedTerm* terms, int32_t count, int64_t* budget) : terms_(terms), budget_(budget) {
    std::sort(terms, terms + count,
              [](const StridedTerm& a, const StridedTerm& b) { return a.step > b.step; });
    // For the terms from k on: their largest sum, and the common divisor of all their sums.
    reach_[count] = 0;
    divisor_[count] = 0;
    for (int32_t k = count - 1; k >= 0; --k) {
      reach_[k] = reach_[k + 1] + terms[k].step * (terms[k].count - 1);
      divisor_[k] = terms[k].count > 1 ? std::gcd(divisor_[k + 1], terms[k].step) : divisor_[k + 1];
    }
  }

  // Whether a sum of the terms from k on lies in [low, high].
  Intersection search(int32_t k, int64_t low, int64_t high) {
    low = std::max<int64_t>(low, 0);
    high = std::min(high, reach_[k]);
    if (low > high) return Intersection::no;
    if (low == 0 || high == reach_[k]) return Intersection::yes;
    // Some term remains, so divisor_ is positive.
    if (floor_div(high, divisor_[k]) * divisor_[k] < low) return Intersection::no;
    const StridedTerm& term = terms_[k];
    const int64_t first = std::max<int64_t>(0, ceil_div_signed(low - reach_[k + 1], term.step));
    const int64_t last = std::min(term.count - 1, floor_div(high, term.step));
    for (int64_t x = first; x <= last; ++x) {
      if (--*budget_ < 0) return Intersection::undecided;
      const Intersection below = search(k + 1, low - x * term.step, high - x * term.step);
      if (below != Intersection::no) return below;
    }
    return Intersection::no;
  }

 private:
  StridedTerm* terms_;
  int64_t* budget_;
  int64_t reach_[kMaxTerms + 1];
  int64_t divisor_[kMaxTerms + 1];
};

}  // namespace

Intersection sums_intersect(StridedTerm* terms, int32_t count, int64_t low, int64_t high,
                            int64_t* budget) {
  return Search(terms, count, budget).search(0, low, high);
}

Intersection shares_elements(const StridedTerm* terms, int32_t count, int64_t width,
                             int64_t* budget) {
  StridedTerm sorted[kMaxTerms];
  std::copy(terms, terms + count, sorted);
  std::sort(sorted, sorted + count,
            [](const StridedTerm& a, const StridedTerm& b) { return a.step < b.step; });
  // If each step exceeds what all smaller terms reach, coordinates are like digits of a number: all
  // sums differ.
  int64_t reach = 0;
  bool nested = true;
  for (int32_t k = 0; k < count; ++k) {
    nested = nested && (sorted[k].count == 1 || sorted[k].step >= reach + width);
    reach += sorted[k].step * (sorted[k].count - 1);
  }
  if (nested) return Intersection::no;
  // Otherwise search for two coordinates whose difference is below the width. Its largest nonzero
  // term k may be assumed positive: x * step[k] + (differences of the smaller terms).
  Intersection answer = Intersection::no;
  for (int32_t k = 0; k < count && answer != Intersection::yes; ++k) {
    if (sorted[k].count == 1) continue;
    StridedTerm difference[kMaxTerms];
    int64_t shift = 0;
    for (int32_t j = 0; j < k; ++j) {
      difference[j] = {sorted[j].step, 2 * sorted[j].count - 1};
      shift += sorted[j].step * (sorted[j].count - 1);
    }
    difference[k] = {sorted[k].step, sorted[k].count - 1};
    const int64_t middle = shift - sorted[k].step;
    const Intersection here =
        sums_intersect(difference, k + 1, middle - (width - 1), middle + (width - 1), budget);
    if (here != Intersection::no) answer = here;
  }
  return answer;
}

}  // namespace tw
