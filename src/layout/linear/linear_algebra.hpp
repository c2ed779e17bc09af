// SPDX-License-Identifier: Apache-2.0
#pragma once
// Composition and inverse of linear layouts, and conversion from and to shape:stride layouts.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/linear/linear.hpp"

namespace tw {

/// outer(inner(x)). The packed coordinates of inner are the input bits of outer.
Status linear_compose(const LinearLayout& outer, const LinearLayout& inner, LinearLayout* out);
/// Maps coordinates to (register, lane, warp, block) as four dimensions. If several inputs hold an
/// element, prefers bits of earlier columns. Fails with ERROR_NOT_A_LAYOUT if no input holds an
/// element.
Status linear_inverse(const LinearLayout& layout, LinearLayout* out);

/// Converts a layout with power-of-two extents, swizzled or not. Its modes are (registers),
/// (threads, registers) or (threads, registers, blocks); threads are split into 32 lanes and warps.
/// The index is split into coordinates of `shape`; nullptr means one dimension.
Status linear_from_layout(const Layout& layout, int rank, const int64_t* shape, LinearLayout* out);
/// Converts back to a layout of (threads, registers) or (threads, registers, blocks) that returns
/// the element's number, with a swizzle if needed. Fails with ERROR_NOT_A_LAYOUT if there is none.
Status linear_to_layout(const LinearLayout& layout, Layout* out);

}  // namespace tw
