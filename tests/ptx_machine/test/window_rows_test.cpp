// SPDX-License-Identifier: Apache-2.0
// window_row() computes the same bits as window_f32().
#include "tests/ptx_machine/instructions/window_rows.hpp"

#include <memory>
#include <random>

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::ptx_machine;

namespace {

/// Bits of a random finite number; `near`: with an exponent near the bias, else any exponent.
uint32_t draw(std::mt19937& random, Type type, bool near) {
  const uint32_t most = type == Type::f16 ? 31 : 255, fraction = type == Type::f16 ? 10 : 7;
  uint32_t bits = static_cast<uint32_t>(random()) & 0xffff;
  uint32_t exponent = static_cast<uint32_t>(near ? most / 2 - random() % 14 : random() % most);
  if (random() % 40 == 0) exponent = 0;
  if (random() % 40 == 0) bits &= 0x8000, exponent = 0;
  return (bits & ~(most << fraction)) | exponent << fraction;
}

}  // namespace

TEST_CASE("window_rows: the bits of window_f32") {
  std::mt19937 random(4);
  const auto b = std::make_unique<Columns>();
  for (const Type type : {Type::f16, Type::bf16})
    for (int round = 0; round < 60; ++round) {
      const uint32_t count = 8 * (1 + static_cast<uint32_t>(random() % 32));
      Factors a, columns[kMostColumns];
      float sums[kMostColumns], before[kMostColumns];
      for (uint32_t k = 0; k < 16; ++k) a.set(k, type, draw(random, type, round % 2));
      for (uint32_t j = 0; j < count; ++j) {
        for (uint32_t k = 0; k < 16; ++k) {
          const uint32_t bits = draw(random, type, round % 2);
          columns[j].set(k, type, bits);
          b->set(j, k, type, bits);
        }
        const uint32_t bits = static_cast<uint32_t>(random());
        before[j] = sums[j] =
            std::bit_cast<float>(round % 3 ? (bits & 0x8fffffff) | 0x30000000 : bits & 0xff7fffff);
      }
      window_row(a, *b, count, sums);
      size_t wrong = 0;
      for (uint32_t j = 0; j < count; ++j)
        wrong += std::bit_cast<uint32_t>(sums[j]) !=
                 std::bit_cast<uint32_t>(window_f32(a, columns[j], 16, before[j], kWindowBits));
      CHECK(wrong == 0);
    }
}
