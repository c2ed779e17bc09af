// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of window.hpp for a row of f32 sums at once, with factors of 16 bits: as fast as
// the compiler makes it, and the same bits.

#include <cstdint>

#include "tests/ptx_machine/instructions/window.hpp"

namespace tw::ptx_machine {

inline constexpr uint32_t kRowFactors = 16;
inline constexpr uint32_t kMostColumns = 256;

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

/// An f16 or bf16 number as Factors have it. False where it is an infinity or a NaN.
bool split_16(Type type, uint32_t bits, int32_t* mantissa, int32_t* exponent);
inline bool is_moderate(int32_t mantissa, int32_t exponent) {
  return mantissa == 0 || (exponent >= -kModerate && exponent <= kModerate);
}

}  // namespace tw::ptx_machine
