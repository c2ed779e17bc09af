// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/window_rows.hpp"

#include <bit>

namespace tw::ptx_machine {
namespace {

constexpr int32_t kLeast = -900;  // an exponent below all that are, whose power of 2 is a double
constexpr uint32_t kBlock = 16;   // columns at once
constexpr int kProductShift = kWindowBits - 2 * kFactorBits;
constexpr int kSumShift = kWindowBits - 23;

int32_t cut(int32_t value, int32_t left, int32_t down) {
  const int32_t sign = value >> 31;
  const int32_t magnitude = ((value ^ sign) - sign) << left;
  return ((magnitude >> (down > 31 ? 31 : down)) ^ sign) - sign;
}

/// Products cut to the window, by integers.
struct Whole {
  [[gnu::always_inline]] static void add(const Factors& a, const Columns& b, uint32_t k,
                                         uint32_t first, const int32_t* largest, int32_t* sums) {
    for (uint32_t j = 0; j < kBlock; ++j)
      sums[j] += cut(a.mantissa[k] * b.mantissa[k][first + j], kProductShift,
                     largest[j] - a.exponent[k] - b.exponent[k][first + j]);
  }
};

/// The same where exponents are moderate: f32 has the whole product, and the conversion to an
/// integer cuts it.
struct Moderate {
  [[gnu::always_inline]] static void add(const Factors& a, const Columns& b, uint32_t k,
                                         uint32_t first, const int32_t* largest, int32_t* sums) {
    for (uint32_t j = 0; j < kBlock; ++j) {
      // Below this all products are 0.
      const int32_t top = largest[j] < -2 * kModerate ? -2 * kModerate : largest[j];
      const auto scale = std::bit_cast<float>((kWindowBits - top + 127) << 23);
      sums[j] += static_cast<int32_t>(a.value[k] * b.value[k][first + j] * scale);
    }
  }
};

/// `block` columns from `first` on. Inlined into functions for different processors.
template <class Products>
[[gnu::always_inline]] inline void row_block(const Factors& a, const Columns& b, uint32_t first,
                                             float* sums) {
  int32_t largest[kBlock], mantissa[kBlock], exponent[kBlock], low[kBlock] = {}, high[kBlock] = {};
  for (uint32_t j = 0; j < kBlock; ++j) {
    const int32_t bits = std::bit_cast<int32_t>(sums[j]);
    const int32_t field = bits >> 23 & 255, fraction = bits & 0x7fffff;
    const int32_t whole = field == 0 ? fraction : fraction | 0x800000;
    mantissa[j] = bits < 0 ? -whole : whole;
    exponent[j] = whole == 0 ? kZeroFactorExponent : (field == 0 ? 1 : field) - 127;
    largest[j] = exponent[j] < kLeast ? kLeast : exponent[j];
  }
  for (uint32_t k = 0; k < kRowFactors; ++k)
    for (uint32_t j = 0; j < kBlock; ++j) {
      const int32_t sum = a.exponent[k] + b.exponent[k][first + j];
      largest[j] = sum > largest[j] ? sum : largest[j];
    }
  // Half of the products at a time: 16 of them could pass 2^31.
  for (uint32_t k = 0; k < kRowFactors / 2; ++k) Products::add(a, b, k, first, largest, low);
  for (uint32_t k = kRowFactors / 2; k < kRowFactors; ++k)
    Products::add(a, b, k, first, largest, high);
  for (uint32_t j = 0; j < kBlock; ++j) {
    const int32_t sum = cut(mantissa[j], kSumShift, largest[j] - exponent[j]);
    const double whole =
        static_cast<double>(low[j]) + static_cast<double>(high[j]) + static_cast<double>(sum);
    const int64_t power = static_cast<int64_t>(largest[j] - kWindowBits + 1023) << 52;
    const double exact = whole * std::bit_cast<double>(power);
    const float near = static_cast<float>(exact);
    const double size = exact < 0 ? -exact : exact;
    const float near_size = near < 0 ? -near : near;
    // Towards 0; from 2^128 on it is infinity.
    const bool away = static_cast<double>(near_size) > size && size < 0x1p128;
    // Adding 0 makes +0 of -0, which is no sum.
    sums[j] = std::bit_cast<float>(std::bit_cast<uint32_t>(near) - (away ? 1u : 0u)) + 0.0f;
  }
}

template <class Products>
[[gnu::always_inline]] inline void row_blocks(const Factors& a, const Columns& b, uint32_t count,
                                              float* sums) {
  uint32_t first = 0;
  for (; first + kBlock <= count; first += kBlock) row_block<Products>(a, b, first, sums + first);
  if (first == count) return;
  float rest[kBlock] = {};
  for (uint32_t j = first; j < count; ++j) rest[j - first] = sums[j];
  row_block<Products>(a, b, first, rest);
  for (uint32_t j = first; j < count; ++j) sums[j] = rest[j - first];
}

using RowSums = void (*)(const Factors& a, const Columns& b, uint32_t count, float* sums);

template <class Products>
void row_plain(const Factors& a, const Columns& b, uint32_t count, float* sums) {
  row_blocks<Products>(a, b, count, sums);
}
#ifdef __x86_64__
template <class Products>
[[gnu::target("avx2")]] void row_avx2(const Factors& a, const Columns& b, uint32_t count,
                                      float* sums) {
  row_blocks<Products>(a, b, count, sums);
}
// g++ uses half of a vector unless it is told otherwise, for which clang has no name.
#ifdef __clang__
#define TW_AVX512 "avx512f,avx512vl"
#else
#define TW_AVX512 "avx512f,avx512vl,prefer-vector-width=512"
#endif
template <class Products>
[[gnu::target(TW_AVX512)]] void row_avx512(const Factors& a, const Columns& b, uint32_t count,
                                           float* sums) {
  row_blocks<Products>(a, b, count, sums);
}
#endif

template <class Products>
RowSums best_rows() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return row_avx512<Products>;
  if (__builtin_cpu_supports("avx2")) return row_avx2<Products>;
#endif
  return row_plain<Products>;
}

}  // namespace

void window_row(const Factors& a, const Columns& b, uint32_t count, float* sums) {
  static const RowSums whole = best_rows<Whole>(), moderate = best_rows<Moderate>();
  uint32_t wide = a.wide;
  for (uint32_t j = 0; j < count; ++j) wide |= b.wide[j];
  (wide ? whole : moderate)(a, b, count, sums);
}

}  // namespace tw::ptx_machine
