// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of Hopper's tensor cores: the products of a dot product and the accumulator are
// truncated to one window of bits and summed exactly; the sum is truncated to the result.
//
// The window's last bit is 2^(largest exponent - bits). The exponent of a product is the sum of its
// factors' exponents, before the product is normalized.

#include <cstdint>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// Bits of the window below the largest exponent.
inline constexpr int kWindowBits = 25;
/// The same for wgmma with 8-bit factors.
inline constexpr int kWindowBits8 = 13;
inline constexpr uint32_t kMostFactors = 32;

/// A row of factors, mantissa * 2^(exponent - kFactorBits). Zeros have a very small exponent.
struct Factors {
  int32_t mantissa[kMostFactors];
  int32_t exponent[kMostFactors];
  bool special = false;  // has an infinity or a NaN; then only `value` is valid
  bool wide = false;     // has an exponent beyond kModerate
  float value[kMostFactors];

  void set(uint32_t index, Type type, uint32_t bits);
};
inline constexpr int kFactorBits = 10;
/// A product of two nonzero factors with exponents of at most this magnitude is a normal f32.
inline constexpr int32_t kModerate = 40;

/// c + a . b of `count` factors, truncated to the window, not to the result. NaNs propagate.
double window_sum(const Factors& a, const Factors& b, uint32_t count, double c, int c_exponent,
                  int bits);
/// An accumulator's exponent for the window.
int accumulator_exponent(float value);
int accumulator_exponent_f16(float value);

/// The same, truncated to f32; with kWindowBits8, to 13 bits after the point.
float window_f32(const Factors& a, const Factors& b, uint32_t count, float c, int bits);
/// The same, rounded to nearest even.
uint16_t window_f16(const Factors& a, const Factors& b, uint32_t count, uint16_t c, int bits);

/// Window of a dot product, and the number of its products.
struct WindowForm {
  int bits = kWindowBits;
  uint32_t factors = 16;
};
/// The form of wgmma for a type of factors.
WindowForm wgmma_form(Type factors);
/// c + a . b of 8-bit integers, modulo 2^32.
int32_t sum_s8(const int8_t* a, const int8_t* b, uint32_t count, int32_t c);

}  // namespace tw::ptx_machine
