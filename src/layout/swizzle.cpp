// SPDX-License-Identifier: Apache-2.0
#include "layout/swizzle.hpp"

#include <cstdlib>

namespace tw {

Status check(const BitSwizzle& swizzle) {
  const auto [bits, base, shift] = swizzle;
  if (bits < 0 || base < 0)
    return fail(
        Code::ERROR_INVALID_ARGUMENT, {.argument = "swizzle", .got = bits < 0 ? bits : base},
        "Sw<%d,%d,%d>: the number of bits and the base must not be negative", bits, base, shift);
  if (shift < -62 || shift > 62 || bits > 62 || base > 62 || bits + base + std::abs(shift) > 62)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "swizzle", .got = shift, .limit = 62},
                "Sw<%d,%d,%d> reaches bit 62 or above", bits, base, shift);
  if (std::abs(shift) < bits)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "swizzle", .got = shift, .limit = bits},
                "Sw<%d,%d,%d>: a shift below %d would mix the swizzled bits into themselves", bits,
                base, shift, bits);
  return Code::OK;
}

}  // namespace tw
