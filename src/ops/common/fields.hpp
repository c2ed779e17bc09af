// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields that the descriptions of several operations have, refused in the same words by each.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

/// Whether the field `argument` of a description names an element type. 0, which names none, is
/// what it has where nobody has set it.
/// @param rule the operation's id of the rule.
Status check_dtype(const char* argument, const char* rule, DType dtype);

/// Whether it names a type of indices or offsets, `what` of an operation: i32 or i64.
Status check_index_dtype(const char* argument, const char* rule, const char* what, DType dtype);

/// What the second-level cache should keep of an operand, as tw_cache_priority.
enum class CachePriority : int32_t { normal = 0, evict_first = 1, evict_last = 2 };

/// Refuses a number that names none, by the field's name.
Status check_cache(const char* argument, CachePriority priority);
/// The policy that loads and stores take: a number of <tilewright/device/cache.cuh>.
uint64_t cache_policy(CachePriority priority);

}  // namespace tw
