// SPDX-License-Identifier: Apache-2.0
// The search chooses the numbers c_i (search.hpp), one for each leaf of a layout, from the last
// leaf to the first, and tries small numbers first. The last leaf is the most significant one in a
// linear coordinate, so the first solution is the smallest. If the magnitude of a leaf's stride
// exceeds the distance between the smallest and the largest sum of the leaves before it, at most
// one c_i is possible. Otherwise several may have to be tried. In the worst case this is a knapsack
// problem, hence the limit on steps.
#include "layout/search.hpp"

#include <algorithm>
#include <numeric>

namespace tw {
namespace {

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

uint64_t magnitude(int64_t n) {
  return n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
}

// The smallest c >= 0 with c * d = rest (mod m), or -1. Solutions are `period` apart.
Wide congruent_start(int64_t d, Wide rest, uint64_t m, Wide* period) {
  const Wide g = std::gcd(magnitude(d), m);
  if (rest % g != 0) return -1;
  const Wide n = m / g;
  *period = n;
  if (n == 1) return 0;
  // The inverse of d / g modulo n, by the extended Euclidean algorithm.
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

}  // namespace

bool Search::solve(Wide sum) {
  low_[0] = high_[0] = gcd_[0] = 0;
  for (int i = 0; i < count; ++i) {
    const Wide reach = Wide{stride[i]} * (extent[i] - 1);
    low_[i + 1] = low_[i] + std::min<Wide>(reach, 0);
    high_[i + 1] = high_[i] + std::max<Wide>(reach, 0);
    gcd_[i + 1] = extent[i] > 1 ? std::gcd(gcd_[i], magnitude(stride[i])) : gcd_[i];
  }
  steps = 0;
  return descend(count, sum);
}

bool Search::reachable(int leaves, Wide rest) const {
  return rest >= low_[leaves] && rest <= high_[leaves] &&
         (gcd_[leaves] == 0 ? rest == 0 : rest % Wide{gcd_[leaves]} == 0);
}

bool Search::descend(int leaves, Wide rest) {
  if (!reachable(leaves, rest)) return false;
  if (leaves == 0) return true;
  const int at = leaves - 1;
  const int64_t d = stride[at], s = extent[at];
  if (d == 0 || s == 1) {
    found[at] = 0;
    return descend(at, rest);
  }
  // rest - c * d must stay within what the remaining leaves can reach.
  Wide first = d > 0 ? -floor_div(high_[at] - rest, d) : -floor_div(rest - low_[at], -Wide{d});
  Wide last = d > 0 ? floor_div(rest - low_[at], d) : floor_div(high_[at] - rest, -Wide{d});
  first = std::max<Wide>(first, 0);
  last = std::min<Wide>(last, s - 1);
  Wide period = 1;
  const Wide start = gcd_[at] == 0 ? first : congruent_start(d, rest, gcd_[at], &period);
  if (start < 0) return false;
  Wide c = start >= first ? start : start + (first - start + period - 1) / period * period;
  for (; c <= last; c += period) {
    if (++steps > max_steps) return false;
    found[at] = static_cast<int64_t>(c);
    if (descend(at, rest - c * d)) return true;
  }
  return false;
}

}  // namespace tw
