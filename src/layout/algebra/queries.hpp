// SPDX-License-Identifier: Apache-2.0
#pragma once
// Questions about a layout as a function. Of a swizzle and an offset they take account.

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// No two coordinates share an index.
Status is_injective(const Layout& layout, bool* yes);
/// Between its smallest and its largest index the layout leaves none out.
Status is_surjective(const Layout& layout, bool* yes);
/// Both: size(layout) indices one behind the other, in any order.
Status is_contiguous(const Layout& layout, bool* yes);

}  // namespace tw
