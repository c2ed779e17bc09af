// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of window.hpp for a row of f32 sums at once, with factors of 16 bits: as fast as
// the compiler makes it, and the same bits.

#include <bit>
#include <cstdint>

#include "tests/ptx_machine/instructions/window.hpp"

namespace tw::ptx_machine {

inline constexpr uint32_t kRowFactors = 16;
inline constexpr uint32_t kMostColumns = 256;
inline constexpr int32_t kZeroFactorExponent = -2000;  // of a factor that is 0

/// The factors of a tile's columns, those of one k side by side.
struct Columns {
  alignas(64) int32_t mantissa[kRowFactors][kMostColumns];
  alignas(64) int32_t exponent[kRowFactors][kMostColumns];
  alignas(64) float value[kRowFactors][kMostColumns];
  bool special[kMostColumns];  ///< an infinity or a NaN among the column's
  bool wide[kMostColumns];     ///< see Factors::wide

  /// Of each column k = 0 first.
  void set(uint32_t column, uint32_t k, Type type, uint32_t bits);
};

/// sums[j] = sums[j] + a . b[j] for `count` columns, of factors and sums that are finite.
void window_row(const Factors& a, const Columns& b, uint32_t count, float* sums);

/// An f16 or bf16 number as Factors have it. False if it is an infinity or a NaN.
inline bool split_16(Type type, uint32_t bits, int32_t* mantissa, int32_t* exponent) {
  const bool f16 = type == Type::f16;
  const int32_t fraction_bits = f16 ? 10 : 7, bias = f16 ? 15 : 127, most = f16 ? 31 : 255;
  const int32_t field = static_cast<int32_t>(bits >> fraction_bits) & most;
  const int32_t fraction = static_cast<int32_t>(bits) & ((1 << fraction_bits) - 1);
  const int32_t whole = (field == 0 ? fraction : fraction | 1 << fraction_bits)
                        << (kFactorBits - fraction_bits);
  *mantissa = field == most ? 0 : bits & 0x8000 ? -whole : whole;
  *exponent = whole == 0 || field == most ? kZeroFactorExponent : (field == 0 ? 1 : field) - bias;
  return field != most;
}
inline bool is_moderate(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 || (exponent >= -kModerate && exponent <= kModerate);
}
/// The number of such a mantissa and exponent.
inline float moderate_value(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 ? 0.0f
                       : static_cast<float>(mantissa) *
                             std::bit_cast<float>((exponent - kFactorBits + 127) << 23);
}

inline void Columns::set(uint32_t column, uint32_t k, Type type, uint32_t bits) {
  if (k == 0) special[column] = wide[column] = false;
  int32_t &m = mantissa[k][column], &e = exponent[k][column];
  special[column] |= !split_16(type, bits, &m, &e);
  const bool moderate = is_moderate(m, e);
  wide[column] |= !moderate;
  value[k][column] = moderate ? moderate_value(m, e) : 0.0f;
}

}  // namespace tw::ptx_machine
