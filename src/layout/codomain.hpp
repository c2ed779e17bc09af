// SPDX-License-Identifier: Apache-2.0
#pragma once
// The codomain of a coordinate-valued layout: which numbers make up the tuples that it gives.

#include "layout/layout.hpp"

namespace tw {

/// Where a coordinate-valued layout's numbers go: the leaves of its codomain from left to right.
struct Codomain {
  IntTuple profile;  ///< values are the origin's
  Basis path[kMaxLeaves];
};
Status codomain(const Layout& layout, Codomain* out);

}  // namespace tw
