// SPDX-License-Identifier: Apache-2.0
#pragma once
// The codomain of a layout with basis strides: the profile of the tuples that it returns.

#include "layout/layout.hpp"

namespace tw {

struct Codomain {
  IntTuple profile;        ///< its values are the origin's
  Basis path[kMaxLeaves];  ///< of each leaf of the profile, ascending
};
/// Fails if strides contradict each other, such as 1@0 and 1@0@0.
Status codomain(const Layout& layout, Codomain* out);

}  // namespace tw
