// SPDX-License-Identifier: Apache-2.0
#include "ops/common/fields.hpp"

#include <tilewright/device/cache.cuh>

namespace tw {

Status check_dtype(const char* argument, const char* rule, DType dtype) {
  const auto number = static_cast<int32_t>(dtype);
  if (is_dtype(number)) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = rule, .got = number},
              "%s is %d, which is not an element type%s: set desc.%s to a TW_DTYPE_ value, for "
              "example %d for f32",
              argument, number, number == 0 ? " but the value of an unset field" : "", argument,
              static_cast<int>(DType::F32));
}

Status check_index_dtype(const char* argument, const char* rule, const char* what, DType dtype) {
  if (dtype == DType::I32 || dtype == DType::I64) return {};
  const auto number = static_cast<int32_t>(dtype);
  const bool named = is_dtype(number);
  // Other integer types are plausible index types, so they are unsupported rather than invalid.
  const bool integer = dtype >= DType::U8 && dtype <= DType::I64;
  return fail(
      integer ? Code::ERROR_UNSUPPORTED : Code::ERROR_INVALID_ARGUMENT,
      {.argument = argument, .rule = rule, .got = number},
      "%s is %d (%s): %s must be i32 or i64; set desc.%s to TW_DTYPE_I32 (%d) or TW_DTYPE_I64 (%d)",
      argument, number, named ? dtype_name(dtype) : "not an element type", what, argument,
      static_cast<int>(DType::I32), static_cast<int>(DType::I64));
}

Status check_cache(const char* argument, CachePriority priority) {
  if (priority >= CachePriority::normal && priority <= CachePriority::evict_last) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = argument,
               .rule = "cache_priority",
               .got = static_cast<int64_t>(priority),
               .limit = static_cast<int64_t>(CachePriority::evict_last)},
              "%s is %d: it must be 0 (normal), 1 (evict first) or 2 (evict last)", argument,
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
