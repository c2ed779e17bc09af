// SPDX-License-Identifier: Apache-2.0
#pragma once
// window_f32() and window_f16() for a whole row of sums: the same bits, vectorized.

#include <bit>
#include <cstdint>

#include "tests/ptx_machine/instructions/window.hpp"

namespace tw::ptx_machine {

inline constexpr uint32_t kMostColumns = 256;
inline constexpr int32_t kZeroFactorExponent = -2000;  // the exponent of a factor that is 0

/// The factors of a tile's columns, with those of one k contiguous.
struct Columns {
  alignas(64) int32_t mantissa[kMostFactors][kMostColumns];
  alignas(64) int32_t exponent[kMostFactors][kMostColumns];
  alignas(64) float value[kMostFactors][kMostColumns];
  bool special[kMostColumns];  ///< see Factors::special
  bool wide[kMostColumns];     ///< see Factors::wide

  /// Set k = 0 of a column first: it clears the column's flags.
  void set(uint32_t column, uint32_t k, Type type, uint32_t bits);
};

/// sums[j] += a . b[j] for `count` columns, undefined unless all factors and sums are finite. The
/// factors are those of `form`. If `form` is that of 8-bit factors, none may be wide.
void window_row(const Factors& a, const Columns& b, uint32_t count, const WindowForm& form,
                float* sums);
/// The same for f16 sums, which are passed as floats: the results of window_f16().
void window_row_f16(const Factors& a, const Columns& b, uint32_t count, const WindowForm& form,
                    float* sums);

/// Splits a number as Factors hold it. Returns false for an infinity or a NaN.
inline bool split(Type type, uint32_t bits, int32_t* mantissa, int32_t* exponent) {
  struct Format {
    int32_t fraction_bits, bias, most;
    bool finite_most;  // the largest exponent field is that of numbers, except for the last one
  };
  constexpr Format kF16{10, 15, 31, false}, kBf16{7, 127, 255, false}, kTf32{10, 127, 255, false},
      kE5m2{2, 15, 31, false}, kE4m3{3, 7, 15, true};
  const Format& format = type == Type::f16    ? kF16
                         : type == Type::bf16 ? kBf16
                         : type == Type::tf32 ? kTf32
                         : type == Type::e5m2 ? kE5m2
                                              : kE4m3;
  if (type == Type::tf32) bits >>= 13;  // the tensor cores ignore the last bits of an f32
  const uint32_t past_fraction = bits >> format.fraction_bits;
  const int32_t field = static_cast<int32_t>(past_fraction) & format.most;
  const bool negative = (past_fraction & (static_cast<uint32_t>(format.most) + 1)) != 0;
  const int32_t last_fraction = (1 << format.fraction_bits) - 1;
  const int32_t fraction = static_cast<int32_t>(bits) & last_fraction;
  const bool finite = field != format.most || (format.finite_most && fraction != last_fraction);
  const int32_t whole = (field == 0 ? fraction : fraction | 1 << format.fraction_bits)
                        << (kFactorBits - format.fraction_bits);
  *mantissa = !finite ? 0 : negative ? -whole : whole;
  *exponent = whole == 0 || !finite ? kZeroFactorExponent : (field == 0 ? 1 : field) - format.bias;
  return finite;
}
inline bool is_moderate(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 || (exponent >= -kModerate && exponent <= kModerate);
}
/// The value of a factor with a moderate exponent.
inline float moderate_value(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 ? 0.0f
                       : static_cast<float>(mantissa) *
                             std::bit_cast<float>((exponent - kFactorBits + 127) << 23);
}

inline void Columns::set(uint32_t column, uint32_t k, Type type, uint32_t bits) {
  if (k == 0) special[column] = wide[column] = false;
  int32_t &m = mantissa[k][column], &e = exponent[k][column];
  special[column] |= !split(type, bits, &m, &e);
  const bool moderate = is_moderate(m, e);
  wide[column] |= !moderate;
  value[k][column] = moderate ? moderate_value(m, e) : 0.0f;
}

}  // namespace tw::ptx_machine
