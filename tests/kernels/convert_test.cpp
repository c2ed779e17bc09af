// SPDX-License-Identifier: Apache-2.0
// Conversions between floating formats against arithmetic in double that knows a format by its
// parameters alone: every pattern of the small formats, and f32 around every boundary of each.
#include "kernels/parts/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/float_formats.hpp"
#include "doctest_main.hpp"

using namespace tw;

namespace {

struct Format {
  u32 number;
  int mantissa, bias, top;  // top: the largest exponent field that holds numbers
  bool infinity;
  u32 sign, patterns;
};
constexpr Format kSmall[] = {{kFormatF16, 10, 15, 30, true, 0x8000, 0x10000},
                             {kFormatBF16, 7, 127, 254, true, 0x8000, 0x10000},
                             {kFormatE4M3, 3, 7, 15, false, 0x80, 0x100},
                             {kFormatE5M2, 2, 15, 30, true, 0x80, 0x100}};

// What a pattern means, by the definition of a floating format.
double meaning(const Format& f, u32 bits) {
  const u32 magnitude = bits & (f.sign - 1);
  const int field = static_cast<int>(magnitude >> f.mantissa);
  const u32 fraction = magnitude & ((1u << f.mantissa) - 1);
  double value = field == 0
                     ? std::ldexp(fraction, 1 - f.bias - f.mantissa)
                     : std::ldexp(fraction + (1u << f.mantissa), field - f.bias - f.mantissa);
  if (f.infinity && field > f.top) value = fraction == 0 ? INFINITY : NAN;
  if (!f.infinity && magnitude == f.sign - 1) value = NAN;
  return bits & f.sign ? -value : value;
}

// Numbers of the format that are not negative, in their order.
std::vector<double> ladder(const Format& f) {
  std::vector<double> steps;
  for (u32 bits = 0; bits < f.sign; ++bits) {
    const double value = meaning(f, bits);
    if (std::isfinite(value)) steps.push_back(value);
  }
  return steps;
}

// The nearest of the ladder, in double, where halves of neighbouring steps are exact. One step more
// than the largest stands for overflow.
u32 nearest(const Format& f, const std::vector<double>& steps, float value) {
  if (std::isnan(value)) return f.sign - 1;
  const u32 sign = std::signbit(value) ? f.sign : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto above = std::upper_bound(steps.begin(), steps.end(), magnitude);
  auto index = static_cast<u32>(above - steps.begin() - 1);
  const double low = steps[index];
  const double high =
      above != steps.end() ? *above : 2 * low - steps[steps.size() - 2];  // as if it went on
  const double middle = low + (high - low) / 2;
  if (magnitude > middle || (magnitude == middle && index % 2 == 1)) ++index;
  if (index == steps.size() && !f.infinity) return f.sign - 1;
  return sign | index;
}

// f32 numbers a few units in the last place around each of some.
std::vector<float> around(const std::vector<double>& centres) {
  std::vector<float> all;
  for (const double centre : centres) {
    const auto bits = static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(centre)));
    for (int64_t delta = -3; delta <= 3; ++delta)
      if (bits + delta >= 0)
        for (const uint32_t sign : {0u, 0x80000000u})
          all.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits + delta) | sign));
  }
  return all;
}

}  // namespace

TEST_CASE("convert: every pattern of a small format has its meaning in f32") {
  for (const Format& f : kSmall)
    for (u32 bits = 0; bits < f.patterns; ++bits) {
      const double want = meaning(f, bits);
      const float got = decode(f.number, bits);
      if (std::isnan(want) != std::isnan(got) ||
          (!std::isnan(want) && (got != want || std::signbit(got) != std::signbit(want))))
        FAIL("format " << f.number << " pattern " << bits << ": " << got << " for " << want);
    }
}

TEST_CASE("convert: every pattern goes to f32 and back unchanged, NaN to the format's one") {
  for (const Format& f : kSmall)
    for (u32 bits = 0; bits < f.patterns; ++bits) {
      const u32 want = std::isnan(meaning(f, bits)) ? f.sign - 1 : bits;
      if (encode(f.number, decode(f.number, bits)) != want)
        FAIL("format " << f.number << " pattern " << bits);
    }
}

TEST_CASE("convert: every pattern of 16 bits to every format rounds to the nearest") {
  for (const Format& to : kSmall) {
    const auto steps = ladder(to);
    for (const u32 from : {kFormatF16, kFormatBF16})
      for (u32 bits = 0; bits < 0x10000; ++bits) {
        const float value = decode(from, bits);
        if (encode(to.number, value) != nearest(to, steps, value))
          FAIL("format " << from << " pattern " << bits << " to " << to.number);
      }
  }
}

TEST_CASE("convert: f32 at and around every number of a format and every middle between two") {
  for (const Format& f : kSmall) {
    const auto steps = ladder(f);
    std::vector<double> centres = steps;
    for (size_t i = 0; i + 1 < steps.size(); ++i)
      centres.push_back(steps[i] + (steps[i + 1] - steps[i]) / 2);
    const double last = steps.back() - steps[steps.size() - 2];
    for (const double past : {0.5, 1.0, 1.5, 2.0}) centres.push_back(steps.back() + past * last);
    for (const double huge : {0x1p126, 0x1p127, 3.4028234e38, 0x1p-126, 0x1p-149})
      centres.push_back(huge);
    for (const float value : around(centres))
      if (encode(f.number, value) != nearest(f, steps, value))
        FAIL("format " << f.number << ": " << value);
  }
}

TEST_CASE("convert: random f32 patterns, special ones among them") {
  std::mt19937_64 random(1);
  for (const Format& f : kSmall) {
    const auto steps = ladder(f);
    for (int i = 0; i < 300000; ++i) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      if (encode(f.number, value) != nearest(f, steps, value))
        FAIL("format " << f.number << ": " << value);
    }
    for (const float value : {INFINITY, -INFINITY}) {
      const u32 infinity = static_cast<u32>(f.top + 1) << f.mantissa;
      const u32 want = f.infinity ? infinity | (value < 0 ? f.sign : 0) : f.sign - 1;
      CHECK(encode(f.number, value) == want);
    }
  }
  for (const u32 nan : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu})
    for (u32 format = 0; format < kFormats; ++format)
      CHECK(encode(format, float_of(nan)) == format_nan(format));
}

TEST_CASE("convert: saturation keeps everything but NaN finite, and rounds as before inside") {
  for (const Format& f : kSmall) {
    const auto steps = ladder(f);
    const float max = format_max(f.number);
    CHECK(static_cast<double>(max) == steps.back());
    const auto top = static_cast<u32>(steps.size() - 1);
    std::vector<double> centres = {steps.back()};
    const double last = steps.back() - steps[steps.size() - 2];
    for (const double past : {-0.5, 0.25, 0.5, 1.0, 3.0})
      centres.push_back(steps.back() + past * last);
    for (const float value : around(centres)) {
      const u32 sign = std::signbit(value) ? f.sign : 0;
      const u32 want = std::fabs(value) > max ? sign | top : nearest(f, steps, value);
      CHECK(encode(f.number, saturate(value, max)) == want);
    }
    CHECK(encode(f.number, saturate(INFINITY, max)) == top);
    CHECK(encode(f.number, saturate(-INFINITY, max)) == (f.sign | top));
    CHECK(encode(f.number, saturate(NAN, max)) == f.sign - 1);
  }
  CHECK(bits_of(saturate(INFINITY, format_max(kFormatF32))) == 0x7f7fffffu);
}

TEST_CASE("convert: f16 and bf16 as the host's other functions have them") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    CHECK_EQ(encode(kFormatF16, value), float_to_f16(value));
    CHECK_EQ(encode(kFormatBF16, value), float_to_bf16(value));
  }
}

// They are constants to a compiler too.
static_assert(encode(kFormatE4M3, 464.0f) == 0x7e && encode(kFormatE4M3, -0.0f) == 0x80);
static_assert(decode(kFormatE5M2, 0x7b) == 57344.0f);
