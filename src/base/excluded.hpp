// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// Fails if `unset` is false. The caller sets `unset` if a field that has no meaning with the rest
/// of the description still has the value that the init function gave it. `because` completes "NAME
/// is VALUE, but ..." in the message. `index` >= 0: the element of an array field.
Status check_unset(bool unset, const char* name, int64_t value, const char* because,
                   int32_t index = -1);
/// The same for an address, which must be 0.
Status check_null_address(const char* name, uint64_t address, const char* because);

}  // namespace tw
