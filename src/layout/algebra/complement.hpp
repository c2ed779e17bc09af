// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inside of complement, for inverses, divides and products.

#include "layout/layout.hpp"

namespace tw {

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

/// Holds a left inverse of a layout whose modes overlap against its definition, point by point.
Status check_quasi_inverse(const Layout& layout, const Layout& inverse);

/// right_inverse of a swizzled layout (composition_swizzle.cpp).
Status right_inverse_swizzled(const Layout& layout, Layout* out);

/// ERROR_UNSUPPORTED unless the strides are integers and there is no swizzle or offset.
Status check_plain(const Layout& layout, const char* verb);

}  // namespace tw
