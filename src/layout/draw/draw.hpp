// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of layouts, as SVG text. A grid of mode 0 (rows) by the other modes (columns), in each
// cell what is there; more than kMaxSide rows or columns are cut, and the picture says so.
//
// Allocates, as pictures are no part of the algebra; plain functions otherwise.

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// What the colours of a layout's picture say.
enum class Paint : int32_t {
  none = 0,   ///< nothing: indices alone
  banks = 1,  ///< the bank of shared memory (32 of 4 bytes) that an element begins in
  index = 2   ///< a scale from the smallest index to the largest
};

inline constexpr int64_t kMaxSide = 128;

/// What a picture of a thread-value layout may take, a tenth of a second: so many pairs of thread
/// and value are looked at one by one. Where there are more, so many steps are taken in all to
/// search for the holders of the elements shown.
inline constexpr int64_t kTvBudget = int64_t{1} << 20;

/// The indices of a layout (or the coordinates that it gives). A swizzled one is drawn twice: as it
/// is, and beside it without the swizzle. @param element_bits for Paint::banks.
Status draw(const Layout& layout, Paint paint, int element_bits, std::string* svg);

/// A thread-value layout: in each element of the tile the thread and value that hold it, of several
/// the first. ERROR_UNSUPPORTED where kTvBudget is exceeded.
Status draw_tv(const Layout& tv, const IntTuple& tile, std::string* svg);

/// The boxes that the TMA moves, over the tensor's first two modes; what lies outside of the tensor
/// is cut. ERROR_OVERFLOW where a box's coordinate exceeds 64 bits.
/// @param box extents by mode. @param coords from a box's number to its coordinate.
Status draw_boxes(const Layout& tensor, const int64_t* box, const Layout& coords, std::string* svg);

}  // namespace tw
