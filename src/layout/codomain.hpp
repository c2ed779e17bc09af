// SPDX-License-Identifier: Apache-2.0
#pragma once
// The codomain of a layout with basis strides: the tuples that it returns.

#include "layout/layout.hpp"

namespace tw {

struct Codomain {
  IntTuple tuple;          ///< the profile of the tuples; its values are the origin, or zeros
  Basis path[kMaxLeaves];  ///< of each leaf of `tuple`, ascending
};
/// Fails if strides contradict each other, such as 1@0 and 1@0@0.
Status codomain(const Layout& layout, Codomain* out);

}  // namespace tw
