// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides: a layout seen as a tile and the tiles that there are.

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

Status logical_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status zipped_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status tiled_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status flat_divide(const Layout& layout, const Tiler& tiler, Layout* out);

}  // namespace tw
