// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating-point formats by their definition, computed in double: the reference for conversions,
// which shares no code with them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"

namespace tw::test {

struct FloatFormat {
  DType type;
  int mantissa, bias, top;  // top: the largest exponent field of a finite number
  bool infinity;
  uint32_t sign;  // the sign bit

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

/// The value of a pattern.
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

/// The non-negative finite values of a format, indexed by their patterns and therefore ascending.
inline std::vector<double> ladder(const FloatFormat& f) {
  std::vector<double> steps;
  for (uint32_t bits = 0; bits < f.sign; ++bits) {
    const double value = meaning(f, bits);
    if (std::isfinite(value)) steps.push_back(value);
  }
  return steps;
}

/// ladder() of each format, computed once.
inline const std::vector<double>& ladder_of(const FloatFormat& f) {
  static const std::vector<double> ladders[] = {ladder(kSmallFormats[0]), ladder(kSmallFormats[1]),
                                                ladder(kSmallFormats[2]), ladder(kSmallFormats[3])};
  for (size_t i = 0; i < 4; ++i)
    if (kSmallFormats[i].type == f.type) return ladders[i];
  return ladders[0];
}

/// The pattern nearest to a value, ties to even, found in the ladder: the midpoint of two neighbors
/// is exact in double. A value that rounds past the largest saturates, or becomes infinity, or NaN
/// in a format without infinity.
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
      // the step that would follow the largest
      above != steps.end() ? *above : 2 * low - steps[last - 1];
  const double middle = low + (high - low) / 2;
  if (magnitude > middle || (magnitude == middle && index % 2 == 1)) ++index;
  if (index > last && !f.infinity) return f.nan();
  return sign | index;
}

}  // namespace tw::test
