// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches for the extents of a proposed box: within the limits, close to the requested extents,
// and with enough elements.

#include <cstdint>

namespace tw {

/// One extent of a box.
struct BoxAxis {
  uint32_t asked = 1;   ///< the requested extent
  uint32_t value = 1;   ///< the result
  uint32_t cap = 256;   ///< the largest result; a multiple of `unit`
  uint32_t unit = 1;    ///< the result is a multiple of this
  uint32_t stride = 1;  ///< element stride
  bool fixed = false;   ///< the result must be `asked`
};

/// Sets the value of each axis. If possible, the box moves at most `limit` elements and covers at
/// least `need` elements, moved or skipped by element strides. `budget` is the number of search
/// steps left and is decremented; it bounds the time if no such box exists.
void solve_box(BoxAxis* axes, int32_t count, uint64_t limit, double need, int32_t* budget);

}  // namespace tw
