// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/window_rows.hpp"

#include <algorithm>
#include <bit>

#include "tests/ptx_machine/instructions/rounding.hpp"

namespace tw::ptx_machine {
namespace {

constexpr int32_t kLeast = -900;     // below every exponent of a product, but 2^kLeast is a double
constexpr int32_t kLeastHalf = -14;  // exponent of the smallest normal and of subnormal f16 numbers
constexpr uint32_t kBlock = 16;      // columns per vector step
int32_t cut(int32_t value, int32_t left, int32_t down) {
  const int32_t sign = value >> 31;
  const int32_t magnitude = ((value ^ sign) - sign) << left;
  return ((magnitude >> (down > 31 ? 31 : down)) ^ sign) - sign;
}

/// Truncates products to the window in integer arithmetic.
struct Whole {
  template <int kBits>
  [[gnu::always_inline]] static void add(const Factors& a, const Columns& b, uint32_t k,
                                         uint32_t first, const int32_t* largest, int32_t* sums) {
    for (uint32_t j = 0; j < kBlock; ++j)
      sums[j] += cut(a.mantissa[k] * b.mantissa[k][first + j], kBits - 2 * kFactorBits,
                     largest[j] - a.exponent[k] - b.exponent[k][first + j]);
  }
};

/// For moderate exponents: f32 holds a product, and conversion to an integer truncates it.
struct Moderate {
  template <int kBits>
  [[gnu::always_inline]] static void add(const Factors& a, const Columns& b, uint32_t k,
                                         uint32_t first, const int32_t* largest, int32_t* sums) {
    for (uint32_t j = 0; j < kBlock; ++j) {
      // A smaller exponent means that all products are 0.
      const int32_t top = largest[j] < -2 * kModerate ? -2 * kModerate : largest[j];
      const auto scale = std::bit_cast<float>((kBits - top + 127) << 23);
      sums[j] += static_cast<int32_t>(a.value[k] * b.value[k][first + j] * scale);
    }
  }
};

/// Adds to kBlock columns from `first` on. With kHalves the sums are those of window_f16(), as
/// floats. Inlined into functions for different processors.
template <class Products, int kBits, uint32_t kFactors, bool kHalves>
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
    if (kHalves && whole != 0 && largest[j] < kLeastHalf) largest[j] = kLeastHalf;
  }
  for (uint32_t k = 0; k < kFactors; ++k)
    for (uint32_t j = 0; j < kBlock; ++j) {
      const int32_t sum = a.exponent[k] + b.exponent[k][first + j];
      largest[j] = sum > largest[j] ? sum : largest[j];
    }
  // Two partial sums: with kWindowBits, 16 products could exceed 2^31.
  for (uint32_t k = 0; k < kFactors / 2; ++k)
    Products::template add<kBits>(a, b, k, first, largest, low);
  for (uint32_t k = kFactors / 2; k < kFactors; ++k)
    Products::template add<kBits>(a, b, k, first, largest, high);
  for (uint32_t j = 0; j < kBlock; ++j) {
    const int32_t sum = cut(mantissa[j], std::max(kBits - 23, 0),
                            largest[j] - exponent[j] + std::max(23 - kBits, 0));
    const double whole =
        static_cast<double>(low[j]) + static_cast<double>(high[j]) + static_cast<double>(sum);
    const int64_t power = static_cast<int64_t>(largest[j] - kBits + 1023) << 52;
    const double exact = whole * std::bit_cast<double>(power);
    if (kHalves) {
      sums[j] = f16_to_float(to_f16(exact)) + 0.0f;  // never -0
      continue;
    }
    const float near = static_cast<float>(exact);
    const double size = exact < 0 ? -exact : exact;
    const float near_size = near < 0 ? -near : near;
    // Round toward 0; from 2^128 on the sum is infinity.
    const bool away = static_cast<double>(near_size) > size && size < 0x1p128;
    // A sum of 8-bit factors has only as many bits after the point as its window.
    constexpr uint32_t kCut = kBits < 23 ? (1u << (23 - kBits)) - 1 : 0;
    const uint32_t truncated = (std::bit_cast<uint32_t>(near) - (away ? 1u : 0u)) & ~kCut;
    // Adding 0 turns -0 into +0: the hardware's sums are never -0.
    sums[j] = std::bit_cast<float>(truncated) + 0.0f;
  }
}

template <class Products, int kBits, uint32_t kFactors, bool kHalves>
[[gnu::always_inline]] inline void row_blocks(const Factors& a, const Columns& b, uint32_t count,
                                              float* sums) {
  uint32_t first = 0;
  for (; first + kBlock <= count; first += kBlock)
    row_block<Products, kBits, kFactors, kHalves>(a, b, first, sums + first);
  if (first == count) return;
  float rest[kBlock] = {};
  for (uint32_t j = first; j < count; ++j) rest[j - first] = sums[j];
  row_block<Products, kBits, kFactors, kHalves>(a, b, first, rest);
  for (uint32_t j = first; j < count; ++j) sums[j] = rest[j - first];
}

using RowSums = void (*)(const Factors& a, const Columns& b, uint32_t count, float* sums);

template <class Products, int kBits, uint32_t kFactors, bool kHalves>
void row_plain(const Factors& a, const Columns& b, uint32_t count, float* sums) {
  row_blocks<Products, kBits, kFactors, kHalves>(a, b, count, sums);
}
#ifdef __x86_64__
template <class Products, int kBits, uint32_t kFactors, bool kHalves>
[[gnu::target("avx2")]] void row_avx2(const Factors& a, const Columns& b, uint32_t count,
                                      float* sums) {
  row_blocks<Products, kBits, kFactors, kHalves>(a, b, count, sums);
}
// g++ uses 256-bit vectors by default; clang does not know the option that changes this.
#ifdef __clang__
#define TW_AVX512 "avx512f,avx512vl"
#else
#define TW_AVX512 "avx512f,avx512vl,prefer-vector-width=512"
#endif
template <class Products, int kBits, uint32_t kFactors, bool kHalves>
[[gnu::target(TW_AVX512)]] void row_avx512(const Factors& a, const Columns& b, uint32_t count,
                                           float* sums) {
  row_blocks<Products, kBits, kFactors, kHalves>(a, b, count, sums);
}
#endif

template <class Products, int kBits, uint32_t kFactors, bool kHalves>
RowSums best_rows() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return row_avx512<Products, kBits, kFactors, kHalves>;
  if (__builtin_cpu_supports("avx2")) return row_avx2<Products, kBits, kFactors, kHalves>;
#endif
  return row_plain<Products, kBits, kFactors, kHalves>;
}

template <bool kHalves>
void add_row(const Factors& a, const Columns& b, uint32_t count, const WindowForm& form,
             float* sums) {
  static const RowSums whole = best_rows<Whole, kWindowBits, 16, kHalves>(),
                       moderate = best_rows<Moderate, kWindowBits, 16, kHalves>(),
                       whole_tf32 = best_rows<Whole, kWindowBits, 8, kHalves>(),
                       moderate_tf32 = best_rows<Moderate, kWindowBits, 8, kHalves>(),
                       eights = best_rows<Moderate, kWindowBits8, 32, kHalves>();
  if (form.factors == 32) return eights(a, b, count, sums);
  uint32_t wide = a.wide;
  for (uint32_t j = 0; j < count; ++j) wide |= b.wide[j];
  if (form.factors == 8) return (wide ? whole_tf32 : moderate_tf32)(a, b, count, sums);
  (wide ? whole : moderate)(a, b, count, sums);
}

}  // namespace

void window_row(const Factors& a, const Columns& b, uint32_t count, const WindowForm& form,
                float* sums) {
  add_row<false>(a, b, count, form, sums);
}

void window_row_f16(const Factors& a, const Columns& b, uint32_t count, const WindowForm& form,
                    float* sums) {
  add_row<true>(a, b, count, form, sums);
}

}  // namespace tw::ptx_machine
