// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layout's modes joined, dropped, flattened and rearranged.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

// Fewer modes, the same function.
Status coalesce(const Layout& layout, Layout* out);
/// By mode: where `profile` has an integer, the mode there becomes flat.
Status coalesce(const Layout& layout, const IntTuple& profile, Layout* out);
/// coalesce without the modes of stride 0.
Status filter(const Layout& layout, Layout* out);
Status filter(const Layout& layout, const IntTuple& profile, Layout* out);
/// Modes of stride 0 become of extent 1.
Status filter_zeros(const Layout& layout, Layout* out);
Status flatten(const Layout& layout, Layout* out);

// The modes at the top rearranged.
Status group_modes(const Layout& layout, int begin, int end, Layout* out);
Status append(const Layout& layout, const Layout& mode, Layout* out);
Status prepend(const Layout& layout, const Layout& mode, Layout* out);
Status replace(const Layout& layout, int index, const Layout& mode, Layout* out);
Status select(const Layout& layout, int count, const int32_t* modes, Layout* out);
Status take(const Layout& layout, int begin, int end, Layout* out);

}  // namespace tw
