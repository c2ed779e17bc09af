// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products: repeat a layout, with copies arranged by another layout.

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
/// Repeats the block until it covers the shape. `order` gives the order of the copies; nullptr
/// means leftmost mode first.
Status tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple* order,
                     Layout* out);

}  // namespace tw
