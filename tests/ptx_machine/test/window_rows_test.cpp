// SPDX-License-Identifier: Apache-2.0
// window_row() and window_row_f16() compute the same bits as window_f32() and window_f16().
#include "tests/ptx_machine/instructions/window_rows.hpp"

#include <algorithm>
#include <memory>
#include <random>

#include "base/float_formats.hpp"
#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::ptx_machine;

namespace {

/// The numbers of a type's fraction and exponent bits, and of the unused bits behind the fraction.
struct Layout {
  Type type;
  int fraction, exponent, unused;
};

/// Bits of a random finite number; `near`: with an exponent near the bias, else any exponent.
uint32_t draw(std::mt19937& random, const Layout& layout, bool near) {
  const auto next = [&] { return static_cast<uint32_t>(random()); };
  const uint32_t most = (1u << layout.exponent) - 1;
  uint32_t exponent = near ? most / 2 - next() % std::min(14u, most / 2) : next() % most;
  uint32_t sign = next() & 1, fraction = next() & ((1u << layout.fraction) - 1);
  if (random() % 40 == 0) exponent = 0;
  if (random() % 40 == 0) exponent = fraction = 0;
  return ((sign << layout.exponent | exponent) << layout.fraction | fraction) << layout.unused |
         (next() & ((1u << layout.unused) - 1));
}

}  // namespace

TEST_CASE("window_rows: the bits of window_f32 and window_f16") {
  std::mt19937 random(4);
  const auto b = std::make_unique<Columns>();
  for (const Layout& layout :
       {Layout{Type::f16, 10, 5, 0}, Layout{Type::bf16, 7, 8, 0}, Layout{Type::tf32, 10, 8, 13},
        Layout{Type::e4m3, 3, 4, 0}, Layout{Type::e5m2, 2, 5, 0}}) {
    const WindowForm form = wgmma_form(layout.type);
    for (int round = 0; round < 60; ++round) {
      const uint32_t count = 8 * (1 + static_cast<uint32_t>(random() % 32));
      Factors a, columns[kMostColumns];
      float sums[kMostColumns], before[kMostColumns], halves[kMostColumns];
      uint16_t halves_before[kMostColumns];
      for (uint32_t k = 0; k < form.factors; ++k)
        a.set(k, layout.type, draw(random, layout, round % 2));
      for (uint32_t j = 0; j < count; ++j) {
        for (uint32_t k = 0; k < form.factors; ++k) {
          const uint32_t bits = draw(random, layout, round % 2);
          columns[j].set(k, layout.type, bits);
          b->set(j, k, layout.type, bits);
        }
        const uint32_t bits = static_cast<uint32_t>(random());
        before[j] = sums[j] =
            std::bit_cast<float>(round % 3 ? (bits & 0x8fffffff) | 0x30000000 : bits & 0xff7fffff);
        halves_before[j] = static_cast<uint16_t>(draw(random, {Type::f16, 10, 5, 0}, round % 3));
        halves[j] = f16_to_float(halves_before[j]);
      }
      window_row(a, *b, count, form, sums);
      window_row_f16(a, *b, count, form, halves);
      size_t wrong = 0;
      for (uint32_t j = 0; j < count; ++j) {
        wrong +=
            std::bit_cast<uint32_t>(sums[j]) !=
            std::bit_cast<uint32_t>(window_f32(a, columns[j], form.factors, before[j], form.bits));
        wrong += float_to_f16(halves[j]) !=
                 window_f16(a, columns[j], form.factors, halves_before[j], form.bits);
      }
      CHECK(wrong == 0);
    }
  }
}
