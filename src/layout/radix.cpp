// SPDX-License-Identifier: Apache-2.0
#include "layout/radix.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "layout/coordinate.hpp"
#include "layout/digit.hpp"

namespace tw {
namespace {

// Whether leaf `leaf` can be merged into the coalesced mode before it, which begins at leaf `first`
// and has `extent` elements: the leaf's stride must be the stride of `first` times `extent`.
bool can_merge(const Layout& layout, int first, int64_t extent, int leaf) {
  if (!layout.has_basis_strides) {
    int64_t next = 0;
    return checked_mul(layout.stride[first], extent, &next) && next == layout.stride[leaf];
  }
  Stride next;
  return add_scaled(&next, layout.stride_of(first), extent) && equal(next, layout.stride_of(leaf));
}

}  // namespace

void Radix::coalesce_from(const Layout& from, Node subtree) {
  layout = &from;
  node = subtree;
  count = 0;
  int64_t product = 1;     // of the extents so far
  int first = node.begin;  // the first leaf of mode count - 1
  for (int i = node.begin; i < node.end; ++i) {
    const int64_t e = from.shape.value[i];
    // Modes of extent 1 are dropped. Only the last mode is kept, because its stride is needed for
    // coordinates past the layout's end.
    if (e == 1 && i + 1 < node.end) continue;
    if (count > 0 && can_merge(from, first, extent[count - 1], i)) {
      extent[count - 1] *= e;
    } else {
      if (count > 0) boundary[count - 1] = product;
      extent[count] = e;
      stride[count] = from.stride[i];
      ++count;
      first = i;
    }
    product *= e;
  }
  if (count == 0) {  // the empty tuple
    extent[0] = 1;
    stride[0] = 0;
    count = 1;
  }
}

// The next functions compute the digits of x, lowest digit first, by dividing x by one extent after
// the other. Digit 0 has the weight 1, and digit k + 1 the weight boundary[k]. The last digit is
// what remains of x, and has no bound.

void Radix::remainders(int64_t x, int64_t* remainder) const {
  int64_t weight = 1, sum = 0;
  for (int k = 0; k + 1 < count; ++k) {
    const Digit d = divide(x, extent[k]);
    sum += d.remainder * weight;
    remainder[k] = sum;
    weight = boundary[k];
    x = d.quotient;
  }
}

bool Radix::value_and_remainders(int64_t x, int64_t* remainder, int64_t* out) const {
  int64_t weight = 1, sum = 0, total = 0, term = 0;
  for (int k = 0; k + 1 < count; ++k) {
    const Digit d = divide(x, extent[k]);
    sum += d.remainder * weight;
    remainder[k] = sum;
    weight = boundary[k];
    if (!checked_mul(d.remainder, stride[k], &term) || !checked_add(total, term, &total))
      return false;
    x = d.quotient;
  }
  if (!checked_mul(x, stride[count - 1], &term) || !checked_add(total, term, &total)) return false;
  *out = total;
  return true;
}

bool Radix::value(int64_t x, int64_t* out) const {
  int64_t sum = 0;
  for (int k = 0; k < count; ++k) {
    Digit d{.quotient = 0, .remainder = x};
    if (k + 1 < count) d = divide(x, extent[k]);
    int64_t term = 0;
    if (!checked_mul(d.remainder, stride[k], &term) || !checked_add(sum, term, &sum)) return false;
    x = d.quotient;
  }
  *out = sum;
  return true;
}

bool Radix::value(int64_t x, Stride* out) const {
  if (layout->has_basis_strides) return linear_value(*layout, node, x, out);
  int64_t number = 0;
  if (!value(x, &number)) return false;
  *out = Stride(number);
  return true;
}

bool Radix::admits(int64_t mode_extent, int64_t mode_stride) const {
  // The two conditions are described in radix.hpp. `rest` is the remaining stride without its sign,
  // and `steps` is the remaining number of steps. A negative stride meets the first condition at
  // each mode, because it is less than the extent.
  const bool forward = mode_stride > 0;
  int64_t steps = mode_extent;
  auto rest = forward ? static_cast<uint64_t>(mode_stride) : 0 - static_cast<uint64_t>(mode_stride);
  for (int k = 0; k + 1 < count && rest != 0; ++k) {
    const auto e = static_cast<uint64_t>(extent[k]);
    if (forward && rest >= e && rest % e != 0) return false;
    const auto taken = std::min(static_cast<int64_t>(e / rest + (e % rest != 0)), steps);
    if (taken > 1) {
      if (steps % taken != 0) return false;
      steps /= taken;
    }
    rest = rest / e + (rest % e != 0);
  }
  return true;
}

}  // namespace tw
