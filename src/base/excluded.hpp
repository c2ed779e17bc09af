// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// Refuses a field that is set although it has no meaning with the rest of the description (an
/// excluded field). `allowed`: whether the field has a meaning, or still has the value that the
/// init function gave it. `because` completes "NAME is VALUE, but ..." in the message. An `index`
/// of 0 or more is the element of an array field.
Status check_excluded(bool allowed, const char* name, int64_t value, const char* because,
                      int32_t index = -1);
/// The same for an address, which must be 0.
Status check_null_address(const char* name, uint64_t address, const char* because);

}  // namespace tw
