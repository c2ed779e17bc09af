// SPDX-License-Identifier: Apache-2.0
// The arithmetic that quantize kernels and host bodies share, against float64 and the standard
// library.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "doctest_main.hpp"
#include "kernels/quantize/quantize.h"

using namespace tw;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("quantize: scales are quotients, never less than the smallest normal number") {
  for (const u32 format : {u32{kFormatE4M3}, u32{kFormatE5M2}, kFormatI8}) {
    const float max = quantize_max(format);
    // Every 8191st positive finite number.
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 8191) {
      const auto amax = std::bit_cast<float>(bits);
      const float scale = quantize_scale(amax, max, false);
      CHECK(scale == std::fmax(static_cast<float>(double{amax} / double{max}), 0x1p-126f));
      const float power = quantize_scale(amax, max, true);
      int exponent = 0;
      CHECK(std::frexp(power, &exponent) == 0.5f);
      CHECK((power >= scale && power < 2 * scale));
      CHECK(std::isfinite(quantize_inverse(scale)));
      CHECK(quantize_inverse(scale) >= 0x1p-126f);
      CHECK(quantize_inverse(power) * power == 1);
      // The largest element maps to the format's largest number; rounding never exceeds it.
      CHECK(std::fabs(quantize_product(amax, quantize_inverse(scale))) <= max * 1.0000003f);
    }
    CHECK(quantize_scale(0, max, false) == 1);
    CHECK(quantize_scale(0, max, true) == 1);
    CHECK(quantize_scale(max, max, true) == 1);
    CHECK(quantize_scale(std::nextafter(max, kInfinity), max, true) == 2);
  }
}

TEST_CASE("quantize: i8 rounds to nearest even, saturates, and has 0 for NaN") {
  for (int i = -100000; i <= 100000; ++i) {
    const float value = static_cast<float>(i) / 512;
    const double held = std::fmin(std::fmax(double{value}, -128), 127);
    CHECK(static_cast<int8_t>(quantize_to_i8(value)) == static_cast<int>(std::nearbyint(held)));
  }
  CHECK(quantize_to_i8(kInfinity) == 0x7f);
  CHECK(quantize_to_i8(-kInfinity) == 0x80);
  CHECK(quantize_to_i8(kNan) == 0);
  CHECK(quantize_to_i8(-kNan) == 0);
  CHECK(quantize_to_i8(-0.0f) == 0);
  CHECK(quantize_to_i8(3e38f) == 0x7f);
  for (int i = -128; i < 128; ++i) {
    CHECK(quantize_from_i8(static_cast<uint32_t>(i)) == static_cast<float>(i));
    CHECK(!std::signbit(quantize_from_i8(static_cast<uint32_t>(std::max(i, 0)))));
  }
}

TEST_CASE("quantize: what is not finite does not count in the largest magnitude") {
  struct Wide {
    u32 format, largest, infinity, nan, negative;
  };
  const Wide wides[] = {{kFormatF32, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x80000000},
                        {kFormatBF16, 0x7f7f, 0x7f80, 0x7f81, 0x8000},
                        {kFormatF16, 0x7bff, 0x7c00, 0x7c01, 0x8000}};
  for (const Wide& w : wides)
    for (const u32 sign : {u32{0}, w.negative}) {
      CHECK(quantize_finite(w.format, w.largest | sign) == w.largest);
      CHECK(quantize_finite(w.format, w.infinity | sign) == 0);
      CHECK(quantize_finite(w.format, w.nan | sign) == 0);
      CHECK(quantize_finite(w.format, 1 | sign) == 1);
      CHECK(quantize_finite(w.format, sign) == 0);
    }
}

TEST_CASE("quantize: elements keep the sign of zero, saturate and pass NaN on") {
  for (const u32 format : {u32{kFormatE4M3}, u32{kFormatE5M2}}) {
    const u32 top = format == kFormatE4M3 ? 0x7e : 0x7b;
    const auto of = [&](float x, float inverse) {
      return quantize_element(kFormatF32, format, inverse, std::bit_cast<uint32_t>(x));
    };
    CHECK(of(0.0f, 3) == 0);
    CHECK(of(-0.0f, 3) == 0x80);
    CHECK(of(kInfinity, 1e-30f) == top);
    CHECK(of(-kInfinity, 1e-30f) == (top | 0x80));
    CHECK(of(1, 1e30f) == top);
    CHECK(of(kNan, 1) == 0x7f);
    CHECK(of(-kNan, 1) == 0x7f);
    CHECK(of(0, kInfinity) == 0x7f);
    CHECK(of(1, kNan) == 0x7f);
    CHECK(of(-1e-40f, 1) == 0x80);
    for (const u32 wide : {u32{kFormatF32}, u32{kFormatF16}, u32{kFormatBF16}}) {
      CHECK(dequantize_element(format, wide, 2, 0x7f) == format_nan(wide));
      CHECK(dequantize_element(format, wide, -kNan, 0x38) == format_nan(wide));
      CHECK(dequantize_element(format, wide, 1, 0x80) ==
            (wide == kFormatF32 ? 0x80000000 : 0x8000));
    }
  }
  CHECK(dequantize_element(kFormatE5M2, kFormatF16, 1, 0x7c) == 0x7c00);
  CHECK(dequantize_element(kFormatE5M2, kFormatF16, 2, 0x7b) == 0x7c00);
  CHECK(dequantize_element(kFormatI8, kFormatBF16, 0.5f, 0x80) == 0xc280);
}
