// SPDX-License-Identifier: Apache-2.0
#pragma once
// window_f32() for a whole row of f32 sums with 16-bit factors: the same bits, vectorized.

#include <cstdint>

#include "tests/ptx_machine/instructions/window.hpp"

namespace tw::ptx_machine {

inline constexpr uint32_t kRowFactors = 16;
inline constexpr uint32_t kMostColumns = 256;

/// The factors of a tile's columns, with those of one k contiguous.
struct Columns {
  alignas(64) int32_t mantissa[kRowFactors][kMostColumns];
  alignas(64) int32_t exponent[kRowFactors][kMostColumns];
  alignas(64) float value[kRowFactors][kMostColumns];
  bool special[kMostColumns];  ///< see Factors::special
  bool wide[kMostColumns];     ///< see Factors::wide

  /// Set k = 0 of a column first: it clears the column's flags.
  void set(uint32_t column, uint32_t k, Type type, uint32_t bits);
};

/// sums[j] += a . b[j] for `count` columns, undefined unless all factors and sums are finite.
void window_row(const Factors& a, const Columns& b, uint32_t count, float* sums);

/// Splits an f16 or bf16 number as Factors hold it. Returns false for an infinity or a NaN.
bool split_16(Type type, uint32_t bits, int32_t* mantissa, int32_t* exponent);
inline bool is_moderate(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 || (exponent >= -kModerate && exponent <= kModerate);
}

}  // namespace tw::ptx_machine
