// SPDX-License-Identifier: Apache-2.0
#pragma once
// What two layouts have in common (the longest common vector), and the alignment and the null space
// of one layout. Used to choose vector widths.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

Status max_common_layout(const Layout& a, const Layout& b, Layout* out);
Status max_common_vector(const Layout& a, const Layout& b, int64_t* length);
Status max_alignment(const Layout& layout, int64_t* alignment);
/// The coordinates with index 0: L(N(i)) = 0.
Status nullspace(const Layout& layout, Layout* out);
/// Distributes `size` coordinates over a shape: each leaf in turn takes the greatest common divisor
/// of its extent and what is left of `size`.
Status domain_distribute(const IntTuple& shape, int64_t size, Layout* out);

}  // namespace tw
