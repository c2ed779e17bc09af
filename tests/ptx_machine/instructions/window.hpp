// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of Hopper's tensor cores: a dot product and what it is added to are cut to one
// window of bits, summed exactly, and the sum is cut to the result.
//
// The window's last bit is 2^(largest exponent - bits), where the exponent of a product is the sum
// of its factors' exponents, before the product is normalised. Cuts are towards 0.

#include <cstdint>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// Bits below the largest exponent that count.
inline constexpr int kWindowBits = 25;
/// Of wgmma with factors of 8 bits.
inline constexpr int kWindowBits8 = 13;
inline constexpr uint32_t kMostFactors = 32;

/// A row of factors. Each is `mantissa` * 2^(`exponent` - kFactorBits); a zero's exponent is far
/// below all.
struct Factors {
  int32_t mantissa[kMostFactors];
  int32_t exponent[kMostFactors];
  bool special = false;  // an infinity or a NaN among them; then `value` counts
  bool wide = false;     // one that has no moderate exponent
  float value[kMostFactors];

  void set(uint32_t index, Type type, uint32_t bits);
};
inline constexpr int kFactorBits = 10;
/// Products of two numbers with such exponents, or 0, are normal numbers of f32.
inline constexpr int32_t kModerate = 40;

/// c + a . b, of `count` factors, as an exact number: already cut to the window, not to a result.
/// An infinity or a NaN comes out as one.
double window_sum(const Factors& a, const Factors& b, uint32_t count, double c, int c_exponent,
                  int bits);
/// The exponent that the window counts for an accumulator.
int accumulator_exponent(float value);
int accumulator_exponent_f16(float value);

/// The same, cut to f32, whose last bits are those of a window of 8-bit factors.
float window_f32(const Factors& a, const Factors& b, uint32_t count, float c, int bits);
/// Rounded to nearest even.
uint16_t window_f16(const Factors& a, const Factors& b, uint32_t count, uint16_t c, int bits);

/// What wgmma has for factors of a type: the window's bits, and how many factors a row has.
struct WgmmaForm {
  int bits = kWindowBits;
  uint32_t factors = 16;
};
/// Of f16, bf16, tf32, e4m3 and e5m2.
WgmmaForm wgmma_form(Type factors);
/// c + a . b of integers of 8 bits: exact, and cut to 32 bits.
int32_t sum_s8(const int8_t* a, const int8_t* b, uint32_t count, int32_t c);

}  // namespace tw::ptx_machine
