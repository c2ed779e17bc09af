// SPDX-License-Identifier: Apache-2.0
// Conversions between floating-point formats against a reference in double: every pattern of the
// small formats, and f32 values around every boundary of each.
#include "kernels/common/convert.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/float_formats.hpp"
#include "doctest_main.hpp"
#include "tests/kernels/common/float_reference.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// The constant of convert.h for each format.
u32 number_of(const FloatFormat& f) {
  return f.type == DType::F16      ? +kFormatF16
         : f.type == DType::BF16   ? +kFormatBF16
         : f.type == DType::F8E4M3 ? +kFormatE4M3
                                   : +kFormatE5M2;
}

// f32 values within a few units in the last place of each center.
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
  for (const FloatFormat& f : kSmallFormats)
    for (u32 bits = 0; bits < f.patterns(); ++bits) {
      const double want = meaning(f, bits);
      const float got = decode(number_of(f), bits);
      if (std::isnan(want) != std::isnan(got) ||
          (!std::isnan(want) && (got != want || std::signbit(got) != std::signbit(want))))
        FAIL("format " << number_of(f) << " pattern " << bits << ": " << got << " for " << want);
    }
}

TEST_CASE("convert: every pattern goes to f32 and back unchanged, NaN to the format's one") {
  for (const FloatFormat& f : kSmallFormats)
    for (u32 bits = 0; bits < f.patterns(); ++bits) {
      const u32 want = std::isnan(meaning(f, bits)) ? f.nan() : bits;
      if (encode(number_of(f), decode(number_of(f), bits)) != want)
        FAIL("format " << number_of(f) << " pattern " << bits);
    }
}

TEST_CASE("convert: every pattern of 16 bits to every format rounds to the nearest") {
  for (const FloatFormat& to : kSmallFormats) {
    for (const u32 from : {kFormatF16, kFormatBF16})
      for (u32 bits = 0; bits < 0x10000; ++bits) {
        const float value = decode(from, bits);
        if (encode(number_of(to), value) != nearest(to, value))
          FAIL("format " << from << " pattern " << bits << " to " << number_of(to));
      }
  }
}

TEST_CASE("convert: f32 at and around every number of a format and every middle between two") {
  for (const FloatFormat& f : kSmallFormats) {
    const std::vector<double>& steps = ladder_of(f);
    std::vector<double> centres = steps;
    for (size_t i = 0; i + 1 < steps.size(); ++i)
      centres.push_back(steps[i] + (steps[i + 1] - steps[i]) / 2);
    const double last = steps.back() - steps[steps.size() - 2];
    for (const double past : {0.5, 1.0, 1.5, 2.0}) centres.push_back(steps.back() + past * last);
    for (const double huge : {0x1p126, 0x1p127, 3.4028234e38, 0x1p-126, 0x1p-149})
      centres.push_back(huge);
    for (const float value : around(centres))
      if (encode(number_of(f), value) != nearest(f, value))
        FAIL("format " << number_of(f) << ": " << value);
  }
}

TEST_CASE("convert: random f32 patterns, special ones among them") {
  std::mt19937_64 random(1);
  for (const FloatFormat& f : kSmallFormats) {
    for (int i = 0; i < 300000; ++i) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      if (encode(number_of(f), value) != nearest(f, value))
        FAIL("format " << number_of(f) << ": " << value);
    }
    for (const float value : {INFINITY, -INFINITY}) {
      const u32 infinity = static_cast<u32>(f.top + 1) << f.mantissa;
      const u32 want = f.infinity ? infinity | (value < 0 ? f.sign : 0) : f.nan();
      CHECK(encode(number_of(f), value) == want);
    }
  }
  for (const u32 nan : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0xffffffffu})
    for (u32 format = 0; format < kFormats; ++format)
      CHECK(encode(format, float_of(nan)) == format_nan(format));
}

TEST_CASE("convert: saturation keeps everything but NaN finite, and rounds as before inside") {
  for (const FloatFormat& f : kSmallFormats) {
    const std::vector<double>& steps = ladder_of(f);
    const float max = format_max(number_of(f));
    CHECK(static_cast<double>(max) == steps.back());
    const auto top = static_cast<u32>(steps.size() - 1);
    std::vector<double> centres = {steps.back()};
    const double last = steps.back() - steps[steps.size() - 2];
    for (const double past : {-0.5, 0.25, 0.5, 1.0, 3.0})
      centres.push_back(steps.back() + past * last);
    for (const float value : around(centres)) {
      const u32 sign = std::signbit(value) ? f.sign : 0;
      const u32 want = std::fabs(value) > max ? sign | top : nearest(f, value);
      CHECK(encode(number_of(f), saturate(value, max)) == want);
    }
    CHECK(encode(number_of(f), saturate(INFINITY, max)) == top);
    CHECK(encode(number_of(f), saturate(-INFINITY, max)) == (f.sign | top));
    CHECK(encode(number_of(f), saturate(NAN, max)) == f.nan());
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

// The conversions are constant expressions.
static_assert(encode(kFormatE4M3, 464.0f) == 0x7e && encode(kFormatE4M3, -0.0f) == 0x80);
static_assert(decode(kFormatE5M2, 0x7b) == 57344.0f);
