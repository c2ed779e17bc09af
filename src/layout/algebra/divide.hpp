// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides: split a layout into the modes of one tile and the modes that step from tile to tile.

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

Status logical_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status zipped_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status tiled_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status flat_divide(const Layout& layout, const Tiler& tiler, Layout* out);

}  // namespace tw
