// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating formats by their definition, in double: what conversions are held to, and sharing
// nothing with them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"

namespace tw::test {

struct FloatFormat {
  DType type;
  int mantissa, bias, top;  // top: the largest exponent field that holds numbers
  bool infinity;
  uint32_t sign;  // its bit

  uint32_t patterns() const { return 2 * sign; }
  uint32_t nan() const { return sign - 1; }
};

inline constexpr FloatFormat kSmallFormats[] = {{DType::F16, 10, 15, 30, true, 0x8000},
                                                {DType::BF16, 7, 127, 254, true, 0x8000},
                                                {DType::F8E4M3, 3, 7, 15, false, 0x80},
                                                {DType::F8E5M2, 2, 15, 30, true, 0x80}};

inline const FloatFormat* small_format(DType type) {
  for (const FloatFormat& f : kSmallFormats)
    if (f.type == type) return &f;
  return nullptr;
}

/// What a pattern means.
inline double meaning(const FloatFormat& f, uint32_t bits) {
  const uint32_t magnitude = bits & (f.sign - 1);
  const int field = static_cast<int>(magnitude >> f.mantissa);
  const uint32_t fraction = magnitude & ((1u << f.mantissa) - 1);
  double value = field == 0
                     ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                     : std::ldexp(fraction + (1u << f.mantissa), field - f.bias - f.mantissa);
  if (f.infinity && field > f.top) value = fraction == 0 ? INFINITY : NAN;
  if (!f.infinity && magnitude == f.sign - 1) value = NAN;
  return bits & f.sign ? -value : value;
}

/// The finite numbers of a format that are not negative, in their order, which is that of their
/// patterns from 0.
inline std::vector<double> ladder(const FloatFormat& f) {
  std::vector<double> steps;
  for (uint32_t bits = 0; bits < f.sign; ++bits) {
    const double value = meaning(f, bits);
    if (std::isfinite(value)) steps.push_back(value);
  }
  return steps;
}

/// Each format's ladder, made once.
inline const std::vector<double>& ladder_of(const FloatFormat& f) {
  static const std::vector<double> ladders[] = {ladder(kSmallFormats[0]), ladder(kSmallFormats[1]),
                                                ladder(kSmallFormats[2]), ladder(kSmallFormats[3])};
  for (size_t i = 0; i < 4; ++i)
    if (kSmallFormats[i].type == f.type) return ladders[i];
  return ladders[0];
}

/// The pattern nearest to a number, of two as near the even one: by the ladder, where the middle of
/// two steps is exact in double. One step more than the largest is overflow, which saturates or
/// becomes infinity, or NaN where there is none.
inline uint32_t nearest(const FloatFormat& f, double value, bool saturates = false) {
  if (std::isnan(value)) return f.nan();
  const std::vector<double>& steps = ladder_of(f);
  const uint32_t sign = std::signbit(value) ? f.sign : 0;
  const double magnitude = std::fabs(value);
  const auto last = static_cast<uint32_t>(steps.size() - 1);
  if (saturates && magnitude > steps[last]) return sign | last;
  const auto above = std::upper_bound(steps.begin(), steps.end(), magnitude);
  auto index = static_cast<uint32_t>(above - steps.begin() - 1);
  const double low = steps[index];
  const double high =
      above != steps.end() ? *above : 2 * low - steps[last - 1];  // as if it went on
  const double middle = low + (high - low) / 2;
  if (magnitude > middle || (magnitude == middle && index % 2 == 1)) ++index;
  if (index > last && !f.infinity) return f.nan();
  return sign | index;
}

}  // namespace tw::test
