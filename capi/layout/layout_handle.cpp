// SPDX-License-Identifier: Apache-2.0
#include "capi/layout/layout_handle.hpp"

#include <algorithm>

namespace tw::capi {

Status write_numbers(const int64_t* numbers, int count, int64_t* out, const char* argument,
                     int32_t capacity, int32_t* written) {
  if (capacity < count) {
    if (written) *written = count;
    return fail(Code::ERROR_BUFFER_TOO_SMALL,
                {.argument = "capacity", .got = capacity, .limit = count},
                "%d numbers are needed and capacity is %d", count, capacity);
  }
  if (count > 0) TW_TRY(require(out, argument));
  std::copy_n(numbers, count, out);
  if (written) *written = count;
  return Code::OK;
}

}  // namespace tw::capi
