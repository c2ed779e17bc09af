// SPDX-License-Identifier: Apache-2.0
#pragma once
// 64-bit arithmetic with overflow checks. On overflow a function returns false and *out is
// unspecified.

#include <cstdint>

namespace tw {

__extension__ using Wide = __int128;  // holds any product of two 64-bit numbers

[[nodiscard]] inline bool checked_add(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

[[nodiscard]] inline bool checked_sub(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_sub_overflow(a, b, out);
}

[[nodiscard]] inline bool checked_mul(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

/// Rounds a up to a multiple of b. a >= 0, b > 0; overflow is not checked.
constexpr int64_t round_up(int64_t a, int64_t b) {
  return (a + b - 1) / b * b;
}
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace tw
