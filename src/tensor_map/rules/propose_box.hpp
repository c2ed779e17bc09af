// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of a proposal that is a search: extents of a box within its limits, close to those asked
// for and with enough bytes.

#include <cstdint>

namespace tw {

/// One extent of a box.
struct BoxAxis {
  uint32_t asked = 1;
  uint32_t value = 1;   ///< the answer
  uint32_t cap = 256;   ///< a multiple of `unit`
  uint32_t unit = 1;    ///< the answer is a multiple of it
  uint32_t stride = 1;  ///< every so many-th element is moved
  bool fixed = false;   ///< keeps `asked`
};

/// Sets each value. The elements that are moved stay within `limit` where that is possible; the
/// elements that are covered, moved or not, reach `need` where that is possible too. `budget`, the
/// steps that a search may still take, is beyond what it takes to find a box that exists; it bounds
/// the time where none does.
void solve_box(BoxAxis* axes, int32_t count, uint64_t limit, double need, int32_t* budget);

}  // namespace tw
