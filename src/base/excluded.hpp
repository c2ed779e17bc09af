// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// Fails unless a field that the rest of the description rules out is as the init function left it
/// (`unset`). `because` completes "NAME is VALUE, but ..." in the message. `index` >= 0: the
/// element of an array field.
Status check_unset(bool unset, const char* name, int64_t value, const char* because,
                   int32_t index = -1);
/// The same for an address, which must be 0.
Status check_null_address(const char* name, uint64_t address, const char* because);

}  // namespace tw
