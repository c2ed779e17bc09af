// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verbs of the algebra, one .cpp for each family. Names and answers are CuTe's; where CuTe
// would return a layout that is not the mathematical answer these return the right one, or refuse
// with ERROR_NOT_A_LAYOUT and the reason. `out` must not be an operand and is undefined after an
// error.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// R(c) = A(B(c)), with B's profile refined. A swizzle or offset of A stays in front; B may give
/// coordinates, each of which then indexes a mode of A.
Status composition(const Layout& a, const Layout& b, Layout* out);

/// The tile at `coord` of a layout whose `rank` first modes are tiled by `tile`; the modes behind
/// them are kept. Where the layout gives plain integers `offset` is the index of the tile's first
/// element; else it is part of `out` and 0 here.
Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset);

}  // namespace tw
