// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts made from shapes.

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

Status make_layout_left(const IntTuple& shape, Layout* out);
Status make_layout_right(const IntTuple& shape, Layout* out);
/// Compact, strides rising with the numbers of `order`, which may be coarser than the shape; equal
/// numbers give equal strides.
Status make_ordered_layout(const IntTuple& shape, const IntTuple& order, Layout* out);
/// Compact, in the order of the layout's strides; strides 0 stay.
Status make_layout_like(const Layout& layout, Layout* out);
/// Each coordinate to itself: basis strides.
Status make_identity_layout(const IntTuple& shape, Layout* out);
/// (thread, value) to the index in a tile whose shape `tiler` becomes.
Status make_layout_tv(const Layout& threads, const Layout& values, IntTuple* tiler, Layout* out);

/// A swizzle in front of a layout of integers.
Status swizzled(const Layout& layout, const BitSwizzle& swizzle, Layout* out);

}  // namespace tw
