// SPDX-License-Identifier: Apache-2.0
#pragma once
// Complement and inverses, and the inside of complement for divides and products.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// What the layout leaves out of 0 .. cosize - 1, in rising order.
Status complement(const Layout& layout, int64_t cosize, Layout* out);

/// L(R(i)) = i for i < size(R), with R as long as L counts from 0.
Status right_inverse(const Layout& layout, Layout* out);
/// R(L(i)) = i; where L is not injective L(R(L(i))) = L(i).
Status left_inverse(const Layout& layout, Layout* out);

/// A mode, and the weight of its coordinate in a linear one.
struct SortedMode {
  int64_t extent;
  int64_t stride;
  int64_t weight;
};

struct SortedModes {
  int count = 0;
  SortedMode mode[kMaxLeaves];
};

/// The modes that move (extent > 1, stride not 0) by rising stride; equal strides keep their order.
/// ERROR_NOT_A_LAYOUT for a negative stride.
Status sort_modes(const Layout& layout, Node node, SortedModes* out);

/// What a complement that ends with a gap inside the layout says of what lies beyond: nothing, or,
/// by a last mode of extent 1, that it counts on behind the layout. Without that mode it would
/// count on in the gap, into the layout, when it is composed with something that reaches beyond it.
enum class Beyond { nothing, counts_on };

/// Appends the complement of a subtree to the builder.
Status put_complement(const Layout& layout, Node node, int64_t cosize, Beyond beyond, int level,
                      int join, LayoutBuilder* builder);

}  // namespace tw
