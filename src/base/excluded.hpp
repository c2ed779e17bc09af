// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// A field or an address that the rest of the description excludes must be as its init function
/// left it. `because` says what excludes it.
Status check_excluded(bool unset, const char* name, int64_t value, const char* because,
                      int32_t index = -1);
/// The same of an address, which is 0 where none is given.
Status check_no_address(const char* name, uint64_t address, const char* because);

}  // namespace tw
