// SPDX-License-Identifier: Apache-2.0
// Index back to coordinate: the smallest c with sum of c_i * d_i = index, 0 <= c_i < s_i.
//
// Leaves are tried from the last, the most significant in a linear coordinate, smallest number
// first, so the first solution is the answer. What the leaves before can still reach, an interval
// and multiples of their greatest common divisor, leaves few numbers to try: one, for every layout
// whose modes do not overlap. Overlapping ones are a knapsack problem, hence the limit.
#include <algorithm>
#include <numeric>

#include "layout/coordinate.hpp"

namespace tw {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kMaxSteps = int64_t{1} << 22;

struct Search {
  const Layout& layout;
  // What leaves 0..i-1 reach together.
  Wide low[kMaxLeaves + 1];
  Wide high[kMaxLeaves + 1];
  int64_t gcd[kMaxLeaves + 1];
  int64_t steps = 0;
  int64_t flat[kMaxLeaves];

  explicit Search(const Layout& from) : layout(from) {
    low[0] = high[0] = gcd[0] = 0;
    for (int i = 0; i < layout.leaves(); ++i) {
      const int64_t d = layout.stride[i], s = layout.shape.value[i];
      const Wide reach = Wide{d} * (s - 1);
      low[i + 1] = low[i] + std::min<Wide>(reach, 0);
      high[i + 1] = high[i] + std::max<Wide>(reach, 0);
      gcd[i + 1] = s > 1 ? std::gcd(gcd[i], d) : gcd[i];
    }
  }

  bool reachable(int leaves, Wide rest) const {
    return rest >= low[leaves] && rest <= high[leaves] &&
           (gcd[leaves] == 0 ? rest == 0 : rest % gcd[leaves] == 0);
  }

  bool solve(int leaves, Wide rest);
};

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// Smallest c >= 0 with c * d = rest (mod m), or -1; `period` becomes the distance of solutions.
Wide congruent_start(int64_t d, Wide rest, int64_t m, Wide* period) {
  const int64_t g = std::gcd(d, m);
  if (rest % g != 0) return -1;
  const Wide n = m / g;
  *period = n;
  if (n == 1) return 0;
  // Inverse of d/g modulo n by Euclid's algorithm.
  Wide r0 = n, r1 = ((Wide{d} / g) % n + n) % n, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const Wide q = r0 / r1;
    std::swap(r0, r1);
    r1 -= q * r0;
    std::swap(t0, t1);
    t1 -= q * t0;
  }
  const Wide wanted = ((rest / g) % n + n) % n;
  return ((t0 % n + n) % n) * wanted % n;
}

bool Search::solve(int leaves, Wide rest) {
  if (!reachable(leaves, rest)) return false;
  if (leaves == 0) return true;
  const int at = leaves - 1;
  const int64_t d = layout.stride[at], s = layout.shape.value[at];
  if (d == 0 || s == 1) {
    flat[at] = 0;
    return solve(at, rest);
  }
  // rest - c * d must stay inside [low, high] of the leaves before.
  Wide first = d > 0 ? -floor_div(high[at] - rest, d) : -floor_div(rest - low[at], -Wide{d});
  Wide last = d > 0 ? floor_div(rest - low[at], d) : floor_div(high[at] - rest, -Wide{d});
  first = std::max<Wide>(first, 0);
  last = std::min<Wide>(last, s - 1);
  Wide period = 1;
  const Wide start = gcd[at] == 0 ? first : congruent_start(d, rest, gcd[at], &period);
  if (start < 0) return false;
  Wide c = start >= first ? start : start + (first - start + period - 1) / period * period;
  for (; c <= last; c += period) {
    if (++steps > kMaxSteps) return false;
    flat[at] = static_cast<int64_t>(c);
    if (solve(at, rest - c * d)) return true;
  }
  return false;
}

}  // namespace

Status find(const Layout& layout, int64_t index, int64_t* linear) {
  *linear = 0;
  if (layout.coordinates)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides): there is no index to look for");
  Search search(layout);
  const Wide rest = Wide{layout.swizzle(index)} - layout.offset;
  if (!search.solve(layout.leaves(), rest)) {
    if (search.steps > kMaxSteps)
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout", .limit = kMaxSteps},
                  "the layout's modes overlap so much that looking for index %lld was given up "
                  "after %lld steps",
                  static_cast<long long>(index), static_cast<long long>(kMaxSteps));
    return fail(Code::ERROR_NOT_FOUND, {.argument = "index", .got = index},
                "no coordinate has index %lld", static_cast<long long>(index));
  }
  int64_t weight = 1;
  for (int i = 0; i < layout.leaves(); ++i) {
    *linear += search.flat[i] * weight;
    weight *= layout.shape.value[i];
  }
  return Code::OK;
}

}  // namespace tw
