// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/window.hpp"

#include <cmath>

#include "kernels/common/convert.h"
#include "tests/ptx_machine/instructions/rounding.hpp"
#include "tests/ptx_machine/instructions/window_rows.hpp"

namespace tw::ptx_machine {
namespace {

uint32_t format_of(Type type) {
  switch (type) {
    case Type::f16:
      return kFormatF16;
    case Type::bf16:
      return kFormatBF16;
    case Type::e4m3:
      return kFormatE4M3;
    case Type::e5m2:
      return kFormatE5M2;
    default:
      return kFormatF32;
  }
}
int exponent_from(float value, int least) {
  if (value == 0) return kZeroFactorExponent;
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent - 1 < least ? least : exponent - 1;
}

/// Sums with an infinity or a NaN follow IEEE 754.
double special_sum(const Factors& a, const Factors& b, uint32_t count, double c) {
  double sum = c;
  for (uint32_t k = 0; k < count; ++k)
    sum += static_cast<double>(a.value[k]) * static_cast<double>(b.value[k]);
  return sum;
}

float canonical(float value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value;
}

}  // namespace

void Factors::set(uint32_t index, Type type, uint32_t bits) {
  const bool finite = split(type, bits, &mantissa[index], &exponent[index]);
  const bool moderate = is_moderate(mantissa[index], exponent[index]);
  special |= !finite;
  wide |= !moderate;
  // tf32 ignores the last 13 bits of an f32.
  if (type == Type::tf32) bits &= ~0x1fffu;
  value[index] = finite && moderate ? moderate_value(mantissa[index], exponent[index])
                                    : decode(format_of(type), bits);
}

double window_sum(const Factors& a, const Factors& b, uint32_t count, double c, int c_exponent,
                  int bits) {
  if (a.special || b.special || !std::isfinite(c)) return special_sum(a, b, count, c);
  int largest = c_exponent;
  for (uint32_t k = 0; k < count; ++k) {
    const int exponent = a.exponent[k] + b.exponent[k];
    largest = exponent > largest ? exponent : largest;
  }
  if (largest < kZeroFactorExponent / 2) return 0;
  // A product has 2 * kFactorBits bits after the point, the window `bits`.
  int64_t sum = 0;
  const int more = bits - 2 * kFactorBits;
  for (uint32_t k = 0; k < count; ++k) {
    const int32_t product = a.mantissa[k] * b.mantissa[k];
    const int down = largest - a.exponent[k] - b.exponent[k];
    const int64_t magnitude = int64_t{product < 0 ? -product : product} << 8;
    const int shift = down + 8 - more;
    const int64_t cut = shift > 62 ? 0 : magnitude >> shift;
    sum += product < 0 ? -cut : cut;
  }
  if (c != 0) sum += static_cast<int64_t>(std::trunc(std::ldexp(c, bits - largest)));
  return std::ldexp(static_cast<double>(sum), largest - bits);
}

int accumulator_exponent(float value) {
  return std::isfinite(value) ? exponent_from(value, -126) : 0;
}
int accumulator_exponent_f16(float value) {
  return std::isfinite(value) ? exponent_from(value, -14) : 0;
}

float window_f32(const Factors& a, const Factors& b, uint32_t count, float c, int bits) {
  const float sum = to_float_truncated(
      window_sum(a, b, count, static_cast<double>(c), accumulator_exponent(c), bits));
  if (sum == 0) return 0;  // never -0, even if truncated from a negative sum
  if (bits != kWindowBits8 || !std::isfinite(sum)) return canonical(sum);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(sum) & ~((1u << (23 - kWindowBits8)) - 1));
}

WindowForm wgmma_form(Type factors) {
  switch (factors) {
    case Type::tf32:
      return {kWindowBits, 8};
    case Type::e4m3:
    case Type::e5m2:
      return {kWindowBits8, 32};
    default:
      return {};
  }
}

int32_t sum_s8(const int8_t* a, const int8_t* b, uint32_t count, int32_t c) {
  uint32_t sum = static_cast<uint32_t>(c);
  for (uint32_t k = 0; k < count; ++k) sum += static_cast<uint32_t>(int32_t{a[k]} * int32_t{b[k]});
  return static_cast<int32_t>(sum);
}

uint16_t window_f16(const Factors& a, const Factors& b, uint32_t count, uint16_t c, int bits) {
  const float value = f16_to_float(c);
  const uint16_t sum = to_f16(
      window_sum(a, b, count, static_cast<double>(value), accumulator_exponent_f16(value), bits));
  return sum == 0x8000 ? uint16_t{0} : sum;
}

}  // namespace tw::ptx_machine
