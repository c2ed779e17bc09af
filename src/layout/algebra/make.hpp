// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes layouts from shapes.

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

Status make_layout_left(const IntTuple& shape, Layout* out);
Status make_layout_right(const IntTuple& shape, Layout* out);
/// Compact layout whose strides ascend with the numbers in `order`. The profile of `order` may be
/// coarser than the shape's. Equal numbers give equal strides.
Status make_ordered_layout(const IntTuple& shape, const IntTuple& order, Layout* out);
/// Compact layout with the shape of `layout` and the order of its strides. Strides of 0 stay 0.
Status make_layout_like(const Layout& layout, Layout* out);
/// Maps each coordinate to itself, with basis strides.
Status make_identity_layout(const IntTuple& shape, Layout* out);
/// Maps (thread, value) to the index in a tile. Sets `tile_shape` to the tile's shape.
Status make_layout_tv(const Layout& threads, const Layout& values, IntTuple* tile_shape,
                      Layout* out);

/// Adds a swizzle to a layout with integer strides that has none.
Status swizzled(const Layout& layout, const BitSwizzle& swizzle, Layout* out);

}  // namespace tw
