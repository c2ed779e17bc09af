// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the second-level cache should keep of an operand: from a description to an instruction.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

/// As tw_cache_priority.
enum class CachePriority : int32_t { normal = 0, evict_first = 1, evict_last = 2 };

/// Refuses a number that names none, by the field's name.
Status check_cache(const char* argument, CachePriority priority);
/// The policy that loads and stores take: a number of <tilewright/device/cache.cuh>.
uint64_t cache_policy(CachePriority priority);

}  // namespace tw
