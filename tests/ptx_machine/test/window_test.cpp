// SPDX-License-Identifier: Apache-2.0
// The tensor cores' window (window.hpp), tested with numbers at its ends.
#include "tests/ptx_machine/instructions/window.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

#include "kernels/common/convert.h"
#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::ptx_machine;

namespace {

/// c + a . b, rounded as window_f32() does.
float dot(Type type, std::initializer_list<float> a, std::initializer_list<float> b, float c,
          int bits = kWindowBits) {
  const uint32_t format = type == Type::f16    ? kFormatF16
                          : type == Type::bf16 ? kFormatBF16
                          : type == Type::e4m3 ? kFormatE4M3
                                               : kFormatF32;
  Factors x, y;
  for (uint32_t k = 0; k < 16; ++k) {
    x.set(k, type, encode(format, k < a.size() ? a.begin()[k] : 0.0f));
    y.set(k, type, encode(format, k < b.size() ? b.begin()[k] : 0.0f));
  }
  return window_f32(x, y, 16, c, bits);
}

}  // namespace

TEST_CASE("window: whole numbers are exact") {
  CHECK(dot(Type::f16, {1, 2, 3}, {4, 5, 6}, 7) == 39);
  CHECK(dot(Type::bf16, {-1, 2}, {4, 0.5f}, 0) == -3);
  CHECK(dot(Type::tf32, {1.5f}, {2}, 0.25f) == 3.25f);
  CHECK(dot(Type::f16, {}, {}, -0.0f) == 0);
}

TEST_CASE("window: bits below 2^-25 of the largest term are truncated") {
  // 2^25 - 2^25 + a small product, of which the window keeps the integral part.
  CHECK(dot(Type::bf16, {0x1p12f, 0x1p12f, 1}, {0x1p13f, -0x1p13f, 1}, 0) == 1);
  CHECK(dot(Type::bf16, {0x1p12f, 0x1p12f, 1}, {0x1p13f, -0x1p13f, 0.5f}, 0) == 0);
  CHECK(dot(Type::bf16, {0x1p12f, 0x1p12f, 1}, {0x1p13f, -0x1p13f, 1.5f}, 0) == 1);
  // Truncation is toward 0, not down.
  CHECK(dot(Type::bf16, {0x1p12f, 0x1p12f, 1}, {0x1p13f, -0x1p13f, -1.5f}, 0) == -1);
  // The accumulator is truncated too.
  CHECK(dot(Type::bf16, {0x1p12f, 0x1p12f}, {0x1p13f, -0x1p13f}, 1.5f) == 1);
  CHECK(dot(Type::f16, {1}, {1}, 0x1p-24f) == 1);
  CHECK(dot(Type::e4m3, {128, 128, 1}, {64, -64, 1}, 0, kWindowBits8) == 1);
  CHECK(dot(Type::e4m3, {128, 128, 1}, {128, -128, 1}, 0, kWindowBits8) == 0);
}

TEST_CASE("window: a product's exponent is the sum of its factors' exponents") {
  // 1.5 * 1.5 = 2.25 has the exponent 0 here, so the window keeps 2^-25.
  CHECK(dot(Type::bf16, {1.5f, -1.5f, 0x1p-12f}, {1.5f, 1.5f, 0x1p-13f}, 0) == 0x1p-25f);
  // A subnormal factor has the exponent of the smallest normal one.
  CHECK(dot(Type::f16, {0x1p-24f}, {1}, 0) == 0x1p-24f);
  CHECK(dot(Type::f16, {0x1p-24f}, {0x1p-24f}, 0) == 0x1p-48f);
  CHECK(dot(Type::f16, {0x1p-24f, 0x1p-3f}, {0x1p-24f, 0}, 0x1p-14f) == 0x1p-14f);
}

TEST_CASE("window: the result is truncated to f32") {
  CHECK(dot(Type::f16, {1, 1}, {1, 0x1p-12f}, 0x1p-13f) == 1 + 0x1p-12f + 0x1p-13f);
  CHECK(dot(Type::bf16, {1, 1}, {1, 0x1p-24f}, 0) == 1);
  CHECK(dot(Type::bf16, {-1, -1}, {1, 0x1p-24f}, 0) == -1);
  CHECK(dot(Type::bf16, {0x1p127f, 0x1p127f}, {1, 1}, 0) == HUGE_VALF);
  CHECK(dot(Type::bf16, {0x1p127f}, {2}, -0x1p127f) == 0x1p127f);
}

TEST_CASE("window: infinities and NaN") {
  const float inf = HUGE_VALF;
  CHECK(dot(Type::f16, {inf}, {2}, 1) == inf);
  CHECK(dot(Type::f16, {1}, {2}, -inf) == -inf);
  for (const float nan : {dot(Type::f16, {inf}, {0}, 1), dot(Type::f16, {inf, inf}, {1, -1}, 1),
                          dot(Type::bf16, {NAN}, {1}, 1), dot(Type::bf16, {1}, {1}, NAN)})
    CHECK(std::bit_cast<uint32_t>(nan) == 0x7fffffffu);
}

TEST_CASE("window: random numbers, against sums of 128 bits") {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Factors x, y;
    __extension__ __int128 terms[17];
    int exponents[17], largest = -1000;
    const auto draw = [&] { return static_cast<uint32_t>(random() & 0xffffu); };
    for (uint32_t k = 0; k < 16; ++k) {
      uint32_t a = draw(), b = draw();
      if ((a >> 10 & 31) == 31) a ^= 0x4000;
      if ((b >> 10 & 31) == 31) b ^= 0x4000;
      x.set(k, Type::f16, a);
      y.set(k, Type::f16, b);
      const auto mantissa = [](uint32_t h) {
        return int64_t((h & 0x3ff) | ((h >> 10 & 31) ? 0x400 : 0)) * (h >> 15 ? -1 : 1);
      };
      const auto exponent = [](uint32_t h) {
        return int((h >> 10 & 31) ? (h >> 10 & 31) : 1) - 15;
      };
      terms[k] = mantissa(a) * mantissa(b);
      exponents[k] = terms[k] == 0 ? -1000 : exponent(a) + exponent(b);
    }
    const float c = std::ldexp(static_cast<float>(static_cast<int32_t>(random()) >> 8),
                               static_cast<int>(random() % 30) - 30);
    int c_exponent = 0;
    const float c_mantissa = std::frexp(c, &c_exponent);
    terms[16] = static_cast<int64_t>(std::ldexp(c_mantissa, 21));  // 2^(exponent - 1) times 20 bits
    exponents[16] = c == 0 ? -1000 : c_exponent - 1;
    // Products have 20 bits after the point, the accumulator 23. Both get 40.
    __extension__ __int128 sum = 0;
    for (const int exponent : exponents) largest = std::max(largest, exponent);
    for (int k = 0; k < 17; ++k) {
      __extension__ __int128 term = terms[k];
      if (k == 16)
        term = static_cast<int64_t>(std::ldexp(c_mantissa, 24)), term <<= 17;
      else
        term <<= 20;
      const int down = largest - exponents[k] + 40 - kWindowBits;
      term = down > 100 ? 0 : (term < 0 ? -(-term >> down) : term >> down);
      sum += term;
    }
    __extension__ __int128 magnitude = sum < 0 ? -sum : sum;
    int shift = 0;
    while (magnitude >> shift >= 1 << 24) ++shift;
    const float wanted =
        std::ldexp(static_cast<float>(static_cast<int64_t>(magnitude >> shift << shift)),
                   largest - kWindowBits) *
        (sum < 0 ? -1.0f : 1.0f);
    REQUIRE(window_f32(x, y, 16, c, kWindowBits) == wanted);
  }
}

namespace {

/// A finite number as mantissa * 2^exponent, with the exponent that the window uses.
struct Parts {
  double mantissa = 0;
  int exponent = -10000;
};
Parts parts_of(uint32_t bits, int fraction_bits, int exponent_bits, int bias) {
  const uint32_t field = bits >> fraction_bits & ((1u << exponent_bits) - 1);
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const double whole = std::ldexp(static_cast<double>(fraction), -fraction_bits) + (field ? 1 : 0);
  if (whole == 0) return {};
  const bool negative = bits >> (fraction_bits + exponent_bits) & 1;
  return {negative ? -whole : whole, static_cast<int>(field ? field : 1) - bias};
}

/// The sum by the window's definition, in doubles, which hold all terms exactly.
float wanted_sum(const Parts* a, const Parts* b, uint32_t count, float c, int bits) {
  const Parts addend = parts_of(std::bit_cast<uint32_t>(c), 23, 8, 127);
  int largest = addend.exponent;
  for (uint32_t k = 0; k < count; ++k)
    if (a[k].mantissa != 0 && b[k].mantissa != 0)
      largest = std::max(largest, a[k].exponent + b[k].exponent);
  double sum = std::trunc(std::ldexp(addend.mantissa, addend.exponent - largest + bits));
  for (uint32_t k = 0; k < count; ++k)
    sum += std::trunc(
        std::ldexp(a[k].mantissa * b[k].mantissa, a[k].exponent + b[k].exponent - largest + bits));
  // The result keeps 23 bits after the point, or 13 with fp8 factors.
  int exponent = 0;
  const double half = std::frexp(sum, &exponent);
  const int kept = bits == kWindowBits8 ? kWindowBits8 : 23;
  return static_cast<float>(
      std::ldexp(std::trunc(std::ldexp(half, kept + 1)), exponent - kept - 1 + largest - bits));
}

struct Layout {
  Type type;
  int bits, fraction, exponent, bias, shift;  // shift: number of unused low bits
};

}  // namespace

TEST_CASE("window: sums of tf32, e4m3 and e5m2 products in wgmma") {
  std::mt19937 random(5);
  for (const Layout& layout : {Layout{Type::tf32, 19, 10, 8, 127, 13},
                               {Type::e4m3, 8, 3, 4, 7, 0},
                               {Type::e5m2, 8, 2, 5, 15, 0}}) {
    const WindowForm form = wgmma_form(layout.type);
    CHECK(form.factors == (layout.type == Type::tf32 ? 8 : 32));
    for (int round = 0; round < 3000; ++round) {
      Factors x, y;
      Parts a[kMostFactors], b[kMostFactors];
      const auto next = [&] { return static_cast<uint32_t>(random()); };
      const auto draw = [&](Parts* parts, Factors* factors, uint32_t k) {
        uint32_t bits = next() & ((1u << layout.bits) - 1);
        // Finite numbers only; tf32 in a range whose sums are normal f32.
        if (layout.type == Type::tf32) bits = (bits & 0x403ff) | (110 + next() % 30) << 10;
        if (layout.type == Type::e4m3 && (bits & 0x7f) == 0x7f) bits ^= 1;
        if (layout.type == Type::e5m2 && (bits & 0x7c) == 0x7c) bits ^= 4;
        *parts = parts_of(bits, layout.fraction, layout.exponent, layout.bias);
        const uint32_t unused = layout.shift ? next() & ((1u << layout.shift) - 1) : 0;
        factors->set(k, layout.type, bits << layout.shift | unused);
      };
      for (uint32_t k = 0; k < form.factors; ++k) draw(&a[k], &x, k), draw(&b[k], &y, k);
      const float c = std::ldexp(static_cast<float>(static_cast<int32_t>(random()) >> 8),
                                 static_cast<int>(random() % 30) - 30);
      REQUIRE(window_f32(x, y, form.factors, c, form.bits) ==
              wanted_sum(a, b, form.factors, c, form.bits));
    }
  }
}

TEST_CASE("window: integers of 8 bits are exact") {
  int8_t a[32], b[32];
  for (int k = 0; k < 32; ++k) a[k] = b[k] = -128;
  CHECK(sum_s8(a, b, 32, 5) == 32 * 16384 + 5);
  CHECK(sum_s8(a, b, 32, 0x7fffffff) == INT32_MIN + 32 * 16384 - 1);
  b[3] = 127;
  CHECK(sum_s8(a, b, 4, -1) == 3 * 16384 - 128 * 127 - 1);
}
