// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complement and inverses, and the complement of subtrees for divides and products.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// The ascending layout that, with `layout`, covers the indices 0 to cosize - 1.
Status complement(const Layout& layout, int64_t cosize, Layout* out);

/// L(R(i)) = i for i < size(R). R covers the indices that L counts from 0 without a gap.
Status right_inverse(const Layout& layout, Layout* out);
/// R(L(i)) = i. If L is not injective: L(R(L(i))) = L(i).
Status left_inverse(const Layout& layout, Layout* out);

struct SortedMode {
  int64_t extent;
  int64_t stride;
  int64_t weight;  ///< of the mode's coordinate in a linear coordinate
};

struct SortedModes {
  int count = 0;
  SortedMode mode[kMaxLeaves];
};

/// Sorts the leaves with extent > 1 and stride != 0 by stride. Equal strides keep their order.
/// Fails with ERROR_NOT_A_LAYOUT for a negative stride.
Status sort_modes(const Layout& layout, Node node, SortedModes* out);

/// Whether a complement gets a last mode of extent 1 that continues past the layout's end. Without
/// it, composing with something that goes past the complement's end would continue in its last
/// mode, a gap inside the layout, and run into the layout's own indices.
enum class Beyond { nothing, counts_on };

/// Appends the complement of a subtree to the builder.
Status put_complement(const Layout& layout, Node node, int64_t cosize, Beyond beyond, int level,
                      int join, LayoutBuilder* builder);

}  // namespace tw
