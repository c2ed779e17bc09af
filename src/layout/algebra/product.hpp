// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products: a layout repeated as another says.

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

Status logical_product(const Layout& a, const Tiler& tiler, Layout* out);
Status zipped_product(const Layout& a, const Tiler& tiler, Layout* out);
Status tiled_product(const Layout& a, const Tiler& tiler, Layout* out);
Status flat_product(const Layout& a, const Tiler& tiler, Layout* out);
Status blocked_product(const Layout& a, const Layout& b, Layout* out);
Status raked_product(const Layout& a, const Layout& b, Layout* out);
/// The block repeated until it covers the shape; `order` (may be nullptr: leftmost first) says in
/// which order the copies follow one another.
Status tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple* order,
                     Layout* out);

}  // namespace tw
