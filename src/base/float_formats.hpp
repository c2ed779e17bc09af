// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversions of 16-bit floating-point formats on the host, with the results of the GPU's cvt.rn:
// round to nearest even, and any NaN becomes 0x7fff.

#include <bit>
#include <cstdint>

namespace tw {

inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float f16_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u)
    return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
  // Subnormal: magnitude * 2^-24, exact in f32.
  const float scaled = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

inline uint16_t float_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and up
  if (magnitude < 0x38800000u) {  // below 2^-14: subnormal in f16
    // The last bit of 0.5f is 2^-24, so that adding 0.5f rounds to a multiple of 2^-24.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude - ((127u - 15u) << 23) + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

}  // namespace tw
