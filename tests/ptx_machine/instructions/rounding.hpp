// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounds doubles to narrower formats, once.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/float_formats.hpp"

namespace tw::ptx_machine {

/// Rounds to odd, so that rounding the float to fewer bits gives the same as rounding the double.
inline float to_odd(double value) {
  const float near = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(near) || static_cast<double>(near) == value) return near;
  const uint32_t bits = std::bit_cast<uint32_t>(near);
  const bool away = std::fabs(static_cast<double>(near)) > std::fabs(value);
  return std::bit_cast<float>((away ? bits - 1 : bits) | 1);
}
inline uint16_t to_f16(double value) {
  return float_to_f16(to_odd(value));
}
inline uint16_t to_bf16(double value) {
  return float_to_bf16(to_odd(value));
}

/// Rounds toward 0; infinity only from 2^128 on.
inline float to_float_truncated(double value) {
  const float near = static_cast<float>(value);
  if (std::fabs(static_cast<double>(near)) <= std::fabs(value) || std::isnan(near)) return near;
  if (std::fabs(value) >= 0x1p128) return near;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(near) - 1);
}

}  // namespace tw::ptx_machine
