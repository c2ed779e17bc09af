// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verb composition; compose.hpp is its inside.

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

/// R(c) = A(B(c)), with B's profile refined. A swizzle or offset of A stays in front;
/// B may give coordinates, each of which then indexes a mode of A.
Status composition(const Layout& a, const Layout& b, Layout* out);
/// By mode; A's modes behind the tiler's rank are dropped, as CuTe drops them.
Status composition(const Layout& a, const Tiler& tiler, Layout* out);

}  // namespace tw
