// SPDX-License-Identifier: Apache-2.0
#pragma once
// Composition for operands whose modes carry into each other, verified point by point.

#include "layout/algebra/compose.hpp"
#include "layout/layout.hpp"

namespace tw {

/// compose() for the case that modes carry into each other.
Status compose_exactly(const Channels& channels, const Layout& b, Node in_b, int level,
                       int common_level, LayoutBuilder* builder);

}  // namespace tw
