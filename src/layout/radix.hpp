// SPDX-License-Identifier: Apache-2.0
#pragma once
// Radix: a layout as a function of one number.
//
// Let e_0, e_1, ... be the extents of the coalesced layout. Its value at x is the sum of
// digit_k(x) * stride_k, with the digits of x in the mixed radix (e_0, e_1, ...) and an unbounded
// last digit. The value of x + y is the sum of both values if adding the digits of x and y carries
// across no boundary e_0 * ... * e_k. compose.cpp tests this to decide whether a composition is a
// layout.

#include <cstdint>

#include "base/checked.hpp"
#include "layout/layout.hpp"

namespace tw {

struct Radix {
  const Layout* layout;
  Node node;
  int count;                     ///< modes after coalescing, at least 1
  int64_t extent[kMaxLeaves];    ///< of mode k; digits of the last mode are unbounded
  int64_t stride[kMaxLeaves];    ///< of mode k; unused for basis strides
  int64_t boundary[kMaxLeaves];  ///< [k]: product of extents 0..k, for k < count - 1

  /// Coalesces a subtree of a layout, which must outlive this object.
  void coalesce_from(const Layout& from, Node subtree);

  Radix() {}  // leaves all members uninitialized, so that arrays of Radix are cheap

  /// Combines remainders() and value(). For integer strides.
  [[nodiscard]] bool value_and_remainders(int64_t x, int64_t* remainder, int64_t* out) const;
  /// Remainders of x modulo each boundary.
  void remainders(int64_t x, int64_t* remainder) const;
  /// The value at any x, with floor division. False if it exceeds 64 bits.
  [[nodiscard]] bool value(int64_t x, int64_t* out) const;
  [[nodiscard]] bool value(int64_t x, Stride* out) const;

  /// CuTe's two conditions for composing this layout with a mode mode_extent:mode_stride. At each
  /// mode but the last, the remaining stride must be less than the extent or a multiple of it, and
  /// the remaining number of steps must be a multiple of the steps inside that mode.
  bool admits(int64_t mode_extent, int64_t mode_stride) const;
};

}  // namespace tw
