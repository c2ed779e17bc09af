// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of description fields that several operations have, with common error messages.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

/// Fails unless field `argument` is an element type. 0, the value of an unset field, is no type.
/// @param rule the operation's id of the rule.
Status check_dtype(const char* argument, const char* rule, DType dtype);

/// Fails unless the field is i32 or i64. `what` (indices, offsets) is for the message.
Status check_index_dtype(const char* argument, const char* rule, const char* what, DType dtype);

/// Priority of an operand in the L2 cache, as tw_cache_priority.
enum class CachePriority : int32_t { normal = 0, evict_first = 1, evict_last = 2 };

/// Fails if field `argument` is not a CachePriority.
Status check_cache(const char* argument, CachePriority priority);
/// Returns the policy for loads and stores, as in <tilewright/device/cache.cuh>.
uint64_t cache_policy(CachePriority priority);

}  // namespace tw
