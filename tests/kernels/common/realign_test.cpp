// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/realign.h"

#include <cstring>

#include "doctest_main.hpp"

using namespace tw;

TEST_CASE("realign: sixteen bytes from any byte on") {
  unsigned char bytes[32];
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 3);
  Words4 low, high;
  std::memcpy(&low, bytes, 16);
  std::memcpy(&high, bytes + 16, 16);
  for (u32 from = 0; from < 16; ++from) {
    const Words4 out = shift_bytes(low, high, from);
    CHECK(std::memcmp(&out, bytes + from, 16) == 0);
  }
  for (u32 w = 0; w < 4; ++w) CHECK(word_of(low, w) == low.w[w]);
}

TEST_CASE("realign: the pieces of a row are its bytes, each once") {
  for (u64 dst = 1000; dst < 1016; ++dst)
    for (u64 bytes = 1; bytes < 100; ++bytes) {
      const u64 src = 5003;
      u64 next = dst;
      for (u32 number = 0; number < most_pieces(bytes); ++number) {
        const Piece16 piece = piece_of_row(src, dst, bytes, number);
        if (piece.end == 0) continue;
        const bool right = piece.address % 16 == 0 && piece.first < piece.end && piece.end <= 16 &&
                           piece.address + piece.first == next &&
                           piece.src + piece.first - src == next - dst;
        if (!right) CHECK(right);
        next = piece.address + piece.end;
      }
      if (next != dst + bytes) CHECK(next == dst + bytes);
    }
}
