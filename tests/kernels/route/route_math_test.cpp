// SPDX-License-Identifier: Apache-2.0
// The arithmetic that route kernels and host bodies share: its errors against float64, the order of
// its keys, and infinities and NaNs.
#include "kernels/route/route_math.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/float_formats.hpp"
#include "doctest_main.hpp"

using namespace tw;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

}  // namespace

TEST_CASE("route_exp: relative error below 2^-21, ends included") {
  double worst = 0;
  // Every 61st float of the range, with both signs.
  for (uint32_t bits = 0; bits < 0x42b00000u; bits += 61)
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float x = float_of(bits | sign);
      if (x < kRouteExpLow) continue;
      const double wanted = std::exp(static_cast<double>(x));
      worst = std::max(worst, std::abs(static_cast<double>(route_exp(x)) - wanted) / wanted);
    }
  CAPTURE(worst);
  CHECK(worst < 0x1p-21);
  CHECK(route_exp(0.0f) == 1.0f);
  CHECK(route_exp(-0.0f) == 1.0f);
  CHECK(route_exp(std::nextafter(kRouteExpLow, -kInfinity)) == 0.0f);
  CHECK(route_exp(-kInfinity) == 0.0f);
  CHECK(route_exp(kRouteExpLow) > 0.0f);
  CHECK(std::isfinite(route_exp(kRouteExpHigh)));
  CHECK(route_exp(std::nextafter(kRouteExpHigh, kInfinity)) == kInfinity);
  CHECK(route_exp(kInfinity) == kInfinity);
}

TEST_CASE("route_exp: the recorded bits") {
  // A recorded hash of the result bits: no compiler may change them, and GPUs compute the same.
  const float points[] = {-87.0f, -20.5f, -1.0f, -0.1f, 0x1p-30f, 0.7f, 3.0f, 87.9f};
  uint32_t all = 0;
  for (const float x : points) all = all * 0x9e3779b1u + bits_of(route_exp(x));
  CHECK(all == 0x2fc394bdu);
}

TEST_CASE("route_widen: every number of 16 bits, exactly") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f16 = route_widen(kRouteF16, bits);
    const float bf16 = route_widen(kRouteBf16, bits);
    const float wanted_f16 = f16_to_float(static_cast<uint16_t>(bits));
    const float wanted_bf16 = bf16_to_float(static_cast<uint16_t>(bits));
    const bool same_f16 =
        std::isnan(wanted_f16) ? std::isnan(f16) : bits_of(f16) == bits_of(wanted_f16);
    const bool same_bf16 =
        std::isnan(wanted_bf16) ? std::isnan(bf16) : bits_of(bf16) == bits_of(wanted_bf16);
    REQUIRE(same_f16);
    REQUIRE(same_bf16);
  }
}

TEST_CASE("route_key: NaN, then the order of values") {
  const float rising[] = {-kInfinity, -3e38f, -1.0f, -1e-45f, 0.0f, 1e-45f, 1.0f, 3e38f, kInfinity};
  CHECK(route_key(kNan) == kRouteNanKey);
  CHECK(route_key(-kNan) == kRouteNanKey);
  CHECK(route_key(-0.0f) == route_key(0.0f));
  uint32_t before = route_key(kNan);
  for (const float value : rising) {
    CHECK(route_key(value) > before);
    CHECK(route_value(route_key(value)) == value);
    before = route_key(value);
  }
  CHECK(std::isnan(route_value(kRouteNanKey)));
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float a = float_of(static_cast<uint32_t>(random()));
    const float b = float_of(static_cast<uint32_t>(random()));
    if (std::isnan(a) || std::isnan(b)) continue;
    REQUIRE((route_key(a) < route_key(b)) == (a < b));
  }
}

TEST_CASE("route_sigmoid: relative error below 2^-20") {
  double worst = 0;
  for (uint32_t bits = 0; bits < 0x42a60000u; bits += 61)
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float x = float_of(bits | sign);
      const double wanted = 1 / (1 + std::exp(-static_cast<double>(x)));
      worst = std::max(worst, std::abs(static_cast<double>(route_sigmoid(x)) - wanted) / wanted);
    }
  CAPTURE(worst);
  CHECK(worst < 0x1p-20);
}

TEST_CASE("route_score_of: infinities share, NaN counts as nothing") {
  const auto part = [](float x, float top) { return route_numerator(route_key(x), top); };
  CHECK(part(kInfinity, kInfinity) == 1.0f);
  CHECK(part(5.0f, kInfinity) == 0.0f);
  CHECK(part(-kInfinity, -kInfinity) == 1.0f);
  CHECK(part(kNan, 2.0f) == 0.0f);
  CHECK(part(kNan, kNan) == 0.0f);
  const auto sigmoid = [](float x) { return route_score_of(kRouteSigmoid, route_key(x), 0, 0); };
  CHECK(sigmoid(kNan) == 0.0f);
  CHECK(sigmoid(0.0f) == 0.5f);
  CHECK(sigmoid(kInfinity) == 1.0f);
  CHECK(sigmoid(-kInfinity) == 0.0f);
  CHECK(sigmoid(-100.0f) == 0.0f);
  CHECK(route_factor(0.0f) == 0.0f);
  CHECK(route_factor(1.0f) == 1.0f);
  CHECK(route_normalize(0.0f, 0.0f) == 0.0f);
  CHECK(route_biased(kRouteNanKey, 0.0f, 5.0f) == kRouteNanKey);
  CHECK(route_biased(route_key(1.0f), 1.0f, kNan) == kRouteNanKey);
  CHECK(route_pair_key(route_key(2.0f), kRouteNoKey) == route_key(2.0f));
  CHECK(route_pair_key(route_key(2.0f), route_key(1.0f)) == route_key(3.0f));
  CHECK(route_pair_key(route_key(2.0f), kRouteNanKey) == kRouteNanKey);
}

TEST_CASE("route_tree: adds lanes 16 apart first") {
  float lanes[32] = {};
  lanes[0] = 1.0f, lanes[16] = -1.0f, lanes[8] = 0x1p-30f;
  CHECK(route_tree(lanes) == 0x1p-30f);
  lanes[16] = 0.0f, lanes[1] = -1.0f;  // neighboring lanes are added last
  CHECK(route_tree(lanes) == 0.0f);
}
