// SPDX-License-Identifier: Apache-2.0
#pragma once
// Linear layouts composed and inverted, and to and from shape:stride layouts.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/linear/linear.hpp"

namespace tw {

/// outer(inner(x)): inner's coordinates, as one number, are outer's input, bit by bit.
Status linear_compose(const LinearLayout& outer, const LinearLayout& inner, LinearLayout* out);
/// From coordinates back to (register, lane, warp, block), as four dimensions; of several inputs
/// with one element the one with fewest bits of later columns. ERROR_NOT_A_LAYOUT where an element
/// is nobody's.
Status linear_inverse(const LinearLayout& layout, LinearLayout* out);

/// From a layout of power-of-two extents, swizzled or not. One mode: registers. Two: threads (split
/// into lanes of 32 and warps) and values (registers). Three: blocks behind. The index becomes
/// coordinates in a shape, nullptr for one dimension.
Status linear_from_layout(const Layout& layout, int rank, const int64_t* shape, LinearLayout* out);
/// Back: (threads, registers) or (threads, registers, blocks) to the element's number; a swizzle in
/// front where that makes it one. ERROR_NOT_A_LAYOUT where there is none.
Status linear_to_layout(const LinearLayout& layout, Layout* out);

}  // namespace tw
