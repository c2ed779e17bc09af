// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of layouts, as SVG text: a grid of mode 0 (rows) by the other modes (columns). Rows and
// columns beyond kMaxSide are cut, and the picture says so. Unlike the algebra, these functions
// allocate.

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// The meaning of colors in a layout's picture.
enum class Paint : int32_t {
  none = 0,   ///< no colors
  banks = 1,  ///< the bank of shared memory (32 of 4 bytes) in which an element begins
  index = 2   ///< a scale from the smallest index to the largest
};

inline constexpr int64_t kMaxSide = 128;

/// Limit of work for a picture of a thread-value layout, about 0.1 s. With at most this many pairs
/// of thread and value, each pair is evaluated. Otherwise the thread and value of each shown
/// element are searched with this many steps in all.
inline constexpr int64_t kTvBudget = int64_t{1} << 20;

/// Draws the indices of a layout, or its coordinates if it has basis strides. A swizzled layout is
/// drawn twice, with and without the swizzle. `element_bits` is for Paint::banks.
Status draw(const Layout& layout, Paint paint, int element_bits, std::string* svg);

/// Draws a thread-value layout: each element of the tile shows the first thread and value that hold
/// it. Fails with ERROR_UNSUPPORTED if kTvBudget is exceeded.
Status draw_tv(const Layout& tv, const IntTuple& tile, std::string* svg);

/// Draws the boxes that the TMA moves, over the tensor's first two modes; parts outside the tensor
/// are cut. `box` has an extent per mode, `coords` maps a box's number to its coordinate. Fails
/// with ERROR_OVERFLOW if a coordinate exceeds 64 bits.
Status draw_boxes(const Layout& tensor, const int64_t* box, const Layout& coords, std::string* svg);

}  // namespace tw
