// SPDX-License-Identifier: Apache-2.0
#include "ops/common/cache_priority.hpp"

#include <tilewright/device/cache.cuh>

namespace tw {

Status check_cache(const char* argument, CachePriority priority) {
  if (priority >= CachePriority::normal && priority <= CachePriority::evict_last) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument,
               .rule = "cache_priority",
               .got = static_cast<int64_t>(priority),
               .limit = static_cast<int64_t>(CachePriority::evict_last)},
              "%s is %d: 0 (normal), 1 (evict first) or 2 (evict last)", argument,
              static_cast<int>(priority));
}

uint64_t cache_policy(CachePriority priority) {
  switch (priority) {
    case CachePriority::evict_first:
      return tilewright::kEvictFirst;
    case CachePriority::evict_last:
      return tilewright::kEvictLast;
    default:
      return tilewright::kEvictNormal;
  }
}

}  // namespace tw
