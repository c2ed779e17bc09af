// SPDX-License-Identifier: Apache-2.0
#pragma once
// What layouts have in common, and what they leave out: for choosing vector widths.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

Status max_common_layout(const Layout& a, const Layout& b, Layout* out);
Status max_common_vector(const Layout& a, const Layout& b, int64_t* length);
Status max_alignment(const Layout& layout, int64_t* alignment);
/// The coordinates that all have index 0: L(N(i)) = 0.
Status nullspace(const Layout& layout, Layout* out);
/// A layout of as many of `size` coordinates as spread evenly over a shape's modes.
Status domain_distribute(const IntTuple& shape, int64_t size, Layout* out);

}  // namespace tw
