// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts floating-point formats to f32, which represents all their values, and back, rounded to
// nearest even. Host and device compile the same formulas, so that both give the same bits.
// convert.cuh uses the device's instructions instead where they exist.
//
// NaN is always written as the pattern of the hardware's reductions: positive, all mantissa bits
// set.

#include "kernels/arguments.h"

namespace tw {

enum : u32 {
  kFormatF32 = 0,
  kFormatF16 = 1,
  kFormatBF16 = 2,
  kFormatE4M3 = 3,  // no infinity: 0x7f and 0xff are NaN, 448 is the largest number
  kFormatE5M2 = 4,  // f16 with two bits of mantissa
  kFormats = 5
};

TW_KERNEL_HD constexpr u32 format_bytes(u32 format) {
  return format == kFormatF32 ? 4 : format == kFormatF16 || format == kFormatBF16 ? 2 : 1;
}

TW_KERNEL_HD constexpr float float_of(u32 bits) {
  return __builtin_bit_cast(float, bits);
}
TW_KERNEL_HD constexpr u32 bits_of(float value) {
  return __builtin_bit_cast(u32, value);
}

inline constexpr u32 kInfinityF32 = 0x7f800000u;

/// Bits of the NaN that encode() writes.
TW_KERNEL_HD constexpr u32 format_nan(u32 format) {
  return format == kFormatF32 ? 0x7fffffffu : format_bytes(format) == 2 ? 0x7fffu : 0x7fu;
}

TW_KERNEL_HD constexpr float format_max(u32 format) {
  switch (format) {
    case kFormatF32:
      return float_of(0x7f7fffffu);
    case kFormatF16:
      return 65504.0f;
    case kFormatBF16:
      return float_of(0x7f7f0000u);
    case kFormatE4M3:
      return 448.0f;
    default:
      return 57344.0f;
  }
}

/// Clamps value to +-max, the format's largest finite number. A NaN stays NaN.
TW_KERNEL_HD constexpr float saturate(float value, float max) {
  if (value > max) return max;
  return value < -max ? -max : value;
}

/// f32 value of a finite magnitude with kMantissa mantissa bits and exponent bias kBias.
template <u32 kMantissa, u32 kBias>
TW_KERNEL_HD constexpr float decode_small(u32 magnitude) {
  constexpr u32 kShift = 23 - kMantissa;
  if (magnitude >> kMantissa != 0) return float_of((magnitude << kShift) + ((127 - kBias) << 23));
  // Subnormal: a multiple of 2^(1 - kBias - kMantissa), exact in f32.
  return static_cast<float>(magnitude) * float_of((127 + 1 - kBias - kMantissa) << 23);
}

/// f32 value of a format's bits; a NaN becomes an f32 NaN.
TW_KERNEL_HD constexpr float decode(u32 format, u32 bits) {
  if (format == kFormatF32) return float_of(bits);
  if (format == kFormatBF16) return float_of(bits << 16);
  const bool bytes2 = format == kFormatF16;
  const u32 sign = bytes2 ? (bits & 0x8000u) << 16 : (bits & 0x80u) << 24;
  const u32 magnitude = bits & (bytes2 ? 0x7fffu : 0x7fu);
  float value = 0;
  if (format == kFormatE4M3) {
    value = magnitude == 0x7fu ? float_of(0x7fffffffu) : decode_small<3, 7>(magnitude);
  } else {
    const u32 half = bytes2 ? magnitude : magnitude << 8;
    value = half >= 0x7c00u ? float_of(kInfinityF32 | (half & 0x3ffu) << 13)
                            : decode_small<10, 15>(half);
  }
  return float_of(bits_of(value) | sign);
}

/// Rounds the magnitude of a finite f32 to a format's bits, to nearest even. The result exceeds the
/// format's range if the exponent is too large: callers handle overflow first.
template <u32 kMantissa, u32 kBias>
TW_KERNEL_HD constexpr u32 encode_small(u32 magnitude) {
  constexpr u32 kShift = 23 - kMantissa;
  if (magnitude < (127 + 1 - kBias) << 23) {
    // Subnormal: adding a number whose last bit is one subnormal step rounds to that step.
    constexpr u32 kStep = (127 + 1 - kBias - kMantissa + 23) << 23;
    return bits_of(float_of(magnitude) + float_of(kStep)) - kStep;
  }
  const u32 rounded =
      magnitude - ((127 - kBias) << 23) + ((1u << (kShift - 1)) - 1) + (magnitude >> kShift & 1);
  return rounded >> kShift;
}

/// The smallest f32 magnitudes that round beyond the largest finite number. A tie goes to the even
/// neighbor: 448 in e4m3, infinity in the others.
inline constexpr u32 kOverflowF16 = 0x477ff000u;   // 65520
inline constexpr u32 kOverflowE4M3 = 0x43e80001u;  // the f32 after 464
inline constexpr u32 kOverflowE5M2 = 0x47700000u;  // 61440

/// Bits of an f32 rounded to a format. Overflow gives infinity, or NaN in e4m3.
TW_KERNEL_HD constexpr u32 encode(u32 format, float value) {
  const u32 bits = bits_of(value);
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > kInfinityF32) return format_nan(format);
  switch (format) {
    case kFormatF32:
      return bits;
    case kFormatBF16:
      return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    case kFormatF16:
      return (bits >> 16 & 0x8000u) |
             (magnitude >= kOverflowF16 ? 0x7c00u : encode_small<10, 15>(magnitude));
    case kFormatE4M3:
      if (magnitude >= kOverflowE4M3) return format_nan(format);
      return (bits >> 24 & 0x80u) | encode_small<3, 7>(magnitude);
    default:
      return (bits >> 24 & 0x80u) |
             (magnitude >= kOverflowE5M2 ? 0x7cu : encode_small<2, 15>(magnitude));
  }
}

}  // namespace tw
