// SPDX-License-Identifier: Apache-2.0
#pragma once
// Properties of a layout as a function, including its swizzle and offset.

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// No two coordinates share an index.
Status is_injective(const Layout& layout, bool* yes);
/// The layout takes every index between its smallest and its largest one.
Status is_surjective(const Layout& layout, bool* yes);
/// Both: the layout takes size(layout) consecutive indices, in any order.
Status is_contiguous(const Layout& layout, bool* yes);

}  // namespace tw
