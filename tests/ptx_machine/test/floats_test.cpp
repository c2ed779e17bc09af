// SPDX-License-Identifier: Apache-2.0
// Floating point and conversions.
#include "tests/ptx_machine/instructions/floats.hpp"

#include <cmath>
#include <functional>

#include "kernels/common/convert.h"
#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

uint64_t two(float a, float b) {
  return std::bit_cast<uint32_t>(a) | uint64_t{std::bit_cast<uint32_t>(b)} << 32;
}
float low(uint64_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value));
}

/// Runs a body in one thread with a in %f1 and b in %f2. Returns the bits of %r3.
uint32_t result(const std::string& body, float a, float b) {
  Lab lab;
  lab.shape.block[0] = 1;
  lab.fill([&](size_t) { return two(a, b); });
  lab.run("mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n" + body + "\nst.global.u32 [%d2], %r3;");
  return static_cast<uint32_t>(lab.out[0]);
}
uint32_t result_float(const std::string& body, float a, float b) {
  return result(body + "\nmov.b32 %r3, %f3;", a, b);
}
uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

constexpr float kInf = HUGE_VALF;
const float kNan = std::bit_cast<float>(0x7fc12345u);

}  // namespace

TEST_CASE("floats: arithmetic, whose NaN is the canonical one") {
  CHECK(result_float("add.f32 %f3, %f1, %f2;", 1.5f, 0.25f) == bits(1.75f));
  CHECK(result_float("mul.f32 %f3, %f1, %f2;", 3e38f, 10) == bits(kInf));
  CHECK(result_float("sub.f32 %f3, %f1, %f2;", kInf, kInf) == 0x7fffffffu);
  CHECK(result_float("add.f32 %f3, %f1, %f2;", kNan, 1) == 0x7fffffffu);
  CHECK(result_float("fma.rn.f32 %f3, %f1, %f1, %f2;", 1 + 0x1p-12f, -1) ==
        bits(0x1p-11f + 0x1p-24f));
  CHECK(result_float("div.rn.f32 %f3, %f1, %f2;", 1, 3) == bits(1.0f / 3.0f));
  CHECK(result_float("rcp.rn.f32 %f3, %f1;", 3, 0) == bits(1.0f / 3.0f));
  CHECK(result_float("neg.f32 %f3, %f1;", 0, 0) == bits(-0.0f));
  CHECK(result_float("abs.f32 %f3, %f1;", -2, 0) == bits(2));
  CHECK(result_float("add.ftz.f32 %f3, %f1, %f2;", 0x1p-127f, 0x1p-127f) == bits(0.0f));
}

TEST_CASE("floats: minimum and maximum of zeros and NaN") {
  CHECK(result_float("min.f32 %f3, %f1, %f2;", 0.0f, -0.0f) == bits(-0.0f));
  CHECK(result_float("max.f32 %f3, %f1, %f2;", -0.0f, 0.0f) == bits(0.0f));
  CHECK(result_float("max.f32 %f3, %f1, %f2;", kNan, 2) == bits(2));
  CHECK(result_float("max.NaN.f32 %f3, %f1, %f2;", kNan, 2) == 0x7fffffffu);
  CHECK(result_float("min.f32 %f3, %f1, %f2;", kNan, kNan) == 0x7fffffffu);
}

TEST_CASE("floats: approximations are within PTX's bounds") {
  for (const float x : {0.1f, 0.7f, 1.0f, 1.9f, 3.0f, 17.3f}) {
    CHECK(std::fabs(low(result_float("rcp.approx.ftz.f32 %f3, %f1;", x, 0)) * x - 1) <= 0x1p-22f);
    CHECK(std::fabs(low(result_float("ex2.approx.ftz.f32 %f3, %f1;", x, 0)) / std::exp2(x) - 1) <=
          0x1p-22f);
    CHECK(std::fabs(low(result_float("lg2.approx.f32 %f3, %f1;", x, 0)) - std::log2(x)) <=
          0x1p-22f);
  }
  CHECK(result_float("rcp.approx.ftz.f32 %f3, %f1;", 0, 0) == bits(kInf));
  CHECK(result_float("ex2.approx.ftz.f32 %f3, %f1;", -200, 0) == bits(0));
}

TEST_CASE("floats: numbers of 16 bits are rounded once") {
  const auto halves = [](const std::string& type, float a, float b) {
    return result("cvt.rn." + type + ".f32 %r4, %f1, %f1;\ncvt.rn." + type +
                      ".f32 %r5, %f2, %f2;\nadd." + (type == "f16x2" ? "" : "rn.") + type +
                      " %r3, %r4, %r5;",
                  a, b);
  };
  CHECK(halves("f16x2", 1, 0x1p-11f) == encode(kFormatF16, 1) * 0x10001u);
  CHECK(halves("f16x2", 1 + 0x1p-10f, 0x1p-11f) == encode(kFormatF16, 1 + 0x1p-9f) * 0x10001u);
  CHECK(halves("bf16x2", 1, 0x1p-7f) == encode(kFormatBF16, 1 + 0x1p-7f) * 0x10001u);
  // The exact result is too close to a tie for float: rounding twice would round up.
  CHECK(result("mov.b32 %r4, {%h1, %h1};\nmov.u16 %h2, 0x3c00;\nmov.u16 %h3, 0x1400;\nmov.u16 %h4, "
               "0x0001;\n"
               "fma.rn.f16 %h5, %h3, %h2, %h2;\ncvt.u32.u16 %r3, %h5;",
               0, 0) == 0x3c01);
}

TEST_CASE("convert: between floating formats") {
  CHECK(result("cvt.rn.bf16x2.f32 %r3, %f1, %f2;", 2, 1) == 0x40003f80u);
  CHECK(result("cvt.rn.relu.f16x2.f32 %r3, %f1, %f2;", -2, 1) == 0x00003c00u);
  CHECK(result("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;\ncvt.u32.u16 %r3, %h1;", 1000, -kInf) ==
        0x7efeu);
  CHECK(result("cvt.rn.satfinite.e5m2x2.f32 %h1, %f1, %f2;\ncvt.u32.u16 %r3, %h1;", kNan, 1) ==
        0x7f3cu);
  CHECK(result("mov.u16 %h1, 0x7e38;\ncvt.rn.f16x2.e4m3x2 %r3, %h1;", 0, 0) == (0x5f003c00u));
  CHECK(result("cvt.rn.f16x2.f32 %r4, %f1, %f1;\nmov.b32 {%h1, %h2}, %r4;\ncvt.f32.f16 %f3, "
               "%h1;\nmov.b32 %r3, %f3;",
               0.1f, 0) == bits(decode(kFormatF16, encode(kFormatF16, 0.1f))));
}

TEST_CASE("convert: to and from integers") {
  CHECK(result("cvt.rzi.s32.f32 %r3, %f1;", -1.9f, 0) == static_cast<uint32_t>(-1));
  CHECK(result("cvt.rni.s32.f32 %r3, %f1;", 2.5f, 0) == 2);
  CHECK(result("cvt.rzi.u32.f32 %r3, %f1;", -5, 0) == 0);
  CHECK(result("cvt.rzi.s32.f32 %r3, %f1;", 3e9f, 0) == 0x7fffffff);
  CHECK(result("cvt.rzi.s32.f32 %r3, %f1;", kNan, 0) == 0);
  CHECK(result("cvt.rn.f32.u32 %f3, %r1;\nmov.b32 %r3, %f3;", std::bit_cast<float>(0xffffffffu),
               0) == bits(0x1p32f));
  CHECK(result("mov.u32 %r4, 0x80;\ncvt.s32.s8 %r3, %r4;", 0, 0) == 0xffffff80u);
  CHECK(
      result(
          "cvt.f64.f32 %g1, %f1;\nadd.f64 %g1, %g1, 0d3FF0000000000000;\ncvt.rn.f32.f64 %f3, %g1;\n"
          "mov.b32 %r3, %f3;",
          2, 0) == bits(3));
}

TEST_CASE("convert: comparisons of NaN") {
  const auto holds = [](const std::string& comparison, float a, float b) {
    return result("setp." + comparison + ".f32 %p1, %f1, %f2;\nselp.u32 %r3, 1, 0, %p1;", a, b) ==
           1;
  };
  CHECK(!holds("ne", kNan, 1));
  CHECK(holds("neu", kNan, 1));
  CHECK(holds("equ", kNan, 1));
  CHECK(!holds("lt", kNan, 1));
  CHECK(holds("ltu", kNan, 1));
  CHECK(holds("nan", kNan, 1));
  CHECK(holds("num", 2, 1));
  CHECK(holds("eq", 0.0f, -0.0f));
}
