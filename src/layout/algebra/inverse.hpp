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
  int64_t weight;  ///< what one step along the mode adds to a linear coordinate
};

struct SortedModes {
  int count = 0;
  SortedMode mode[kMaxLeaves];
};

/// Sorts the leaves with extent > 1 and stride != 0 by stride. Equal strides keep their order.
/// Fails with ERROR_NOT_A_LAYOUT for a negative stride.
Status sort_modes(const Layout& layout, Node node, SortedModes* out);

/// Whether a complement gets an extra last mode, of extent 1 and with a stride beyond the layout.
/// The last mode without it may fill a gap inside the layout. A composition that goes past the
/// complement's end continues with the last stride, and would then hit indices of the layout.
enum class Beyond { nothing, continues };

/// Appends the complement of a subtree to the builder.
Status put_complement(const Layout& layout, Node node, int64_t cosize, Beyond beyond, int level,
                      int common_level, LayoutBuilder* builder);

}  // namespace tw
