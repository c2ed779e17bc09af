// SPDX-License-Identifier: Apache-2.0
#pragma once
// Composition of whole layouts, built on compose.hpp.

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

/// R(c) = A(B(c)); R's profile refines B's. The result keeps A's frame. B may have basis strides,
/// each of which then indexes a mode of A.
Status composition(const Layout& a, const Layout& b, Layout* out);
/// Composes mode by mode. As in CuTe, modes of A beyond the tiler's rank are dropped.
Status composition(const Layout& a, const Tiler& tiler, Layout* out);

}  // namespace tw
