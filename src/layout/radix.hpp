// SPDX-License-Identifier: Apache-2.0
#pragma once
// Radix: a layout as a function of one number, ready to be stepped through.
//
// Coalesced to modes e_0, e_1, ..., a layout's value at x is the sum of digit_k(x) * stride_k, the
// digits of x in the mixed radix (e_0, e_1, ...), the last digit unbounded. Adding numbers whose
// digit sums carry nowhere across a boundary e_0 * ... * e_k adds their values; that is the whole
// reason why compositions are layouts, and the test that compose.cpp makes.

#include <cstdint>

#include "base/checked.hpp"
#include "layout/layout.hpp"

namespace tw {

struct Radix {
  const Layout* layout;
  Node node;
  int count;                     ///< modes after coalescing, at least 1
  int64_t extent[kMaxLeaves];    ///< of mode k; the last is never wrapped
  int64_t stride[kMaxLeaves];    ///< of mode k, where the layout gives integers
  int64_t boundary[kMaxLeaves];  ///< [k]: product of extents 0..k, for k < count - 1

  /// Reads a subtree of a layout, which must outlive this.
  void read(const Layout& from, Node subtree);

  Radix() {}  // nothing is set before read(): arrays of these stay cheap

  /// Remainders of x modulo each boundary, and the value at x: one pass over the digits. False
  /// where the value exceeds 64 bits.
  [[nodiscard]] bool step(int64_t x, int64_t* remainder, int64_t* out) const;
  /// Remainders of x modulo each boundary.
  void remainders(int64_t x, int64_t* remainder) const;
  /// Value at any x, floor division; false where it exceeds 64 bits.
  [[nodiscard]] bool value(int64_t x, int64_t* out) const;
  [[nodiscard]] bool value(int64_t x, Stride* out) const;

  /// CuTe's conditions on a mode steps:step of a layout that is composed with this one, mode by
  /// mode but for the last: what is left of the step is less than the mode's extent or a multiple
  /// of it, and what is left of the steps is a multiple of those that the mode takes.
  bool admits(int64_t steps, int64_t step) const;
};

}  // namespace tw
