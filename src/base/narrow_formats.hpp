// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of narrow products on the host: 8-bit floats, tf32 and i8, rounded to nearest even
// as the GPU's conversions do. 8-bit floats saturate, so that only NaN gives NaN.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/float_formats.hpp"

namespace tw {

/// The largest finite numbers.
inline constexpr float kF8E4M3Max = 448.0f;
inline constexpr float kF8E5M2Max = 57344.0f;

inline float f8e4m3_to_float(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  const uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 8)
    return std::bit_cast<float>(sign | ((magnitude << 20) + ((127u - 7u) << 23)));
  const float scaled = static_cast<float>(magnitude) * 0x1p-9f;  // subnormal, exact in f32
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

/// The upper byte of an f16.
inline float f8e5m2_to_float(uint8_t bits) {
  return f16_to_float(static_cast<uint16_t>(bits << 8));
}

/// A NaN becomes 0x7f, infinity the largest finite number.
template <uint32_t kMantissa, uint32_t kBias, uint32_t kLargest>
inline uint8_t float_to_f8(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  uint32_t code;
  if (magnitude < (128u - kBias) << 23) {  // subnormal, rounded by an addition in f32
    constexpr uint32_t kAdded = (128u - kBias + 23u - kMantissa) << 23;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kAdded);
    code = std::bit_cast<uint32_t>(sum) - kAdded;
  } else {
    constexpr uint32_t kDropped = 23u - kMantissa;
    const uint32_t odd = magnitude >> kDropped & 1u;
    code = (magnitude - ((127u - kBias) << 23) + (1u << (kDropped - 1)) - 1 + odd) >> kDropped;
  }
  return static_cast<uint8_t>(sign | std::min(code, kLargest));
}

inline uint8_t float_to_f8e4m3(float value) {
  return float_to_f8<3, 7, 0x7e>(value);
}
inline uint8_t float_to_f8e5m2(float value) {
  return float_to_f8<2, 15, 0x7b>(value);
}

/// As tensor maps of TFLOAT32 round: ten bits of mantissa; any NaN becomes one NaN.
inline float rounded_to_tf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::bit_cast<float>(0x7fffe000u);
  return std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

/// Saturated; NaN becomes 0.
inline int8_t float_to_i8(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<int8_t>(std::nearbyint(std::clamp(value, -128.0f, 127.0f)));
}

}  // namespace tw
