// SPDX-License-Identifier: Apache-2.0
// Results are reported for these shapes, so a change of the generator would change their meaning.
#include "tests/bench/gemm/gemm_draw.hpp"

#include <set>

#include "doctest_main.hpp"

namespace tw::bench {
namespace {

constexpr int kMany = 4000;

bool is_multiple(int64_t value, int64_t of) {
  return value % of == 0;
}

uint64_t fingerprint(const std::vector<GemmShape>& shapes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const GemmShape& s : shapes)
    for (const int64_t number :
         {s.m, s.n, s.k, static_cast<int64_t>(s.a_order), static_cast<int64_t>(s.b_order)})
      hash = (hash ^ static_cast<uint64_t>(number)) * 0x100000001b3;
  return hash;
}

TEST_CASE("the same seed draws the same shapes, everywhere and for good") {
  const std::pair<const char*, uint64_t> known[] = {{"decode", 0x3bfe6810b1caa0d9},
                                                    {"prefill", 0xf40bf6e68ff7c730},
                                                    {"random", 0x2fb87f66e40d7527},
                                                    {"odd", 0x52b5969b0febcba5},
                                                    {"large", 0x29a3bfa0bfd20e6e}};
  for (const auto& one : known) {
    INFO(one.first);
    CHECK(fingerprint(draw_gemm_shapes(one.first, 1, 20)) == one.second);
    CHECK(fingerprint(draw_gemm_shapes(one.first, 2, 20)) != one.second);
  }
  CHECK(draw_gemm_shapes("none", 1, 20).empty());
}

TEST_CASE("layers: a hidden size and its partner, or the vocabulary") {
  int vocabularies = 0;
  for (const GemmShape& s : draw_gemm_shapes("decode", 7, kMany)) {
    CHECK((s.m >= 1 && s.m <= 256));
    CHECK((is_multiple(s.n, 64) && is_multiple(s.k, 64)));
    CHECK((s.a_order == Order::row && s.b_order == Order::column));
    CHECK((std::min(s.n, s.k) >= 1024 && std::min(s.n, s.k) <= 8192));
    vocabularies += s.n > 8 * s.k || s.n > 65536 ? 1 : 0;
  }
  CHECK((vocabularies > kMany / 16 && vocabularies < kMany / 6));
  int short_ones = 0;
  for (const GemmShape& s : draw_gemm_shapes("prefill", 7, kMany)) {
    CHECK((s.m >= 257 && s.m <= 16384));
    short_ones += s.m < 2052 ? 1 : 0;  // 2052 is the geometric mean of 257 and 16384
  }
  CHECK((short_ones > kMany * 45 / 100 && short_ones < kMany * 55 / 100));
}

TEST_CASE("random shapes are multiples of 8 in every order") {
  std::set<std::pair<Order, Order>> orders;
  for (const GemmShape& s : draw_gemm_shapes("random", 7, kMany)) {
    CHECK((s.m >= 16 && s.m <= 16384 && s.n >= 64 && s.n <= 23000 && s.k >= 64 && s.k <= 16384));
    CHECK((is_multiple(s.m, 8) && is_multiple(s.n, 8) && is_multiple(s.k, 8)));
    orders.insert({s.a_order, s.b_order});
  }
  CHECK(orders.size() == 4);
  for (const GemmShape& s : draw_gemm_shapes("large", 7, 100))
    CHECK(std::min({s.m, s.n, s.k}) >= 2048);
}

TEST_CASE("odd shapes are others by up to 31, half of them of decode") {
  int few = 0, aligned = 0;
  for (const GemmShape& s : draw_gemm_shapes("odd", 7, kMany)) {
    few += s.m <= 256 ? 1 : 0;
    aligned += is_multiple(s.n, 8) && is_multiple(s.k, 8) ? 1 : 0;
    const int64_t beside_n = (s.n + 31) % 64, beside_k = (s.k + 31) % 64;
    CHECK((beside_n <= 62 && beside_k <= 62));
  }
  CHECK(few == kMany);
  CHECK((aligned > 0 && aligned < 2 * kMany / 30));
}

}  // namespace
}  // namespace tw::bench
