// SPDX-License-Identifier: Apache-2.0
#pragma once
// Joins, drops, flattens and rearranges the modes of a layout.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// Writes the same function with fewer modes.
Status coalesce(const Layout& layout, Layout* out);
/// Coalesces each mode separately for which `profile` has an integer.
Status coalesce(const Layout& layout, const IntTuple& profile, Layout* out);
/// Coalesces and drops modes with stride 0.
Status filter(const Layout& layout, Layout* out);
Status filter(const Layout& layout, const IntTuple& profile, Layout* out);
/// Changes the extent of modes with stride 0 to 1.
Status filter_zeros(const Layout& layout, Layout* out);
Status flatten(const Layout& layout, Layout* out);

// The following rearrange the top-level modes. Ranges [begin, end) exclude `end`.
Status group_modes(const Layout& layout, int begin, int end, Layout* out);
Status append(const Layout& layout, const Layout& mode, Layout* out);
Status prepend(const Layout& layout, const Layout& mode, Layout* out);
Status replace(const Layout& layout, int index, const Layout& mode, Layout* out);
Status select(const Layout& layout, int count, const int32_t* modes, Layout* out);
Status take(const Layout& layout, int begin, int end, Layout* out);

}  // namespace tw
