// SPDX-License-Identifier: Apache-2.0
// Results are reported for these shapes, so a change of the generator would change their meaning.
#include "tests/bench/gemm/gemm_draw.hpp"

#include <map>
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
  const auto add = [&hash](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x100000001b3;
  };
  for (const GemmShape& s : shapes) {
    for (const int64_t number :
         {s.m, s.n, s.k, static_cast<int64_t>(s.a_order), static_cast<int64_t>(s.b_order)})
      add(number);
    for (const char* letter = s.fusion.name; *letter; ++letter) add(*letter);
    if (s.batch != 1) add(s.batch);
  }
  return hash;
}

TEST_CASE("the same seed draws the same shapes, everywhere and for good") {
  const std::pair<const char*, uint64_t> known[] = {
      {"decode", 0x3bfe6810b1caa0d9}, {"prefill", 0xf40bf6e68ff7c730},
      {"random", 0x2fb87f66e40d7527}, {"odd", 0x52b5969b0febcba5},
      {"large", 0x29a3bfa0bfd20e6e},  {"epi-d", 0x9c8f3608bd4b7a90},
      {"epi-p", 0x49a249b259599467},  {"oth-d", 0x065f65601e274772},
      {"oth-p", 0xc8439f54348f4cb5},  {"bat-d", 0xead95204fb1df5f7},
      {"bat-p", 0x4b98c5402d7fb201}};
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

TEST_CASE("epilogues are drawn equally often, for decode and prefill shapes") {
  for (const char* name : {"epi-d", "epi-p", "oth-d", "oth-p"}) {
    INFO(name);
    std::map<std::string, int> times;
    for (const GemmShape& s : draw_gemm_shapes(name, 7, kMany)) {
      CHECK(s.set == std::string(name));
      CHECK((name[4] == 'd' ? s.m <= 256 : s.m >= 257 && s.m <= 16384));
      CHECK((is_multiple(s.n, 64) && is_multiple(s.k, 64) && s.batch == 1));
      CHECK((s.fusion.any() && s.fusion.in_cublaslt() == (name[0] == 'e')));
      ++times[s.fusion.name];
    }
    const int each = kMany / static_cast<int>(times.size());
    CHECK(times.size() == (name[0] == 'e' ? 9 : 10));
    for (const auto& [epilogue, count] : times) CHECK((count > each / 2 && count < each * 2));
  }
}

TEST_CASE("batches have 2 to 64 products, halved until they suit the limits") {
  for (const char* name : {"bat-d", "bat-p"}) {
    INFO(name);
    int few = 0, near = 0;
    std::set<int32_t> counts;
    for (const GemmShape& s : draw_gemm_shapes(name, 7, kMany)) {
      CHECK((s.batch >= 2 && s.batch <= 64 && !s.fusion.any()));
      CHECK((s.flops() < 2e12 && s.bytes() < 4e9));
      CHECK((name[4] == 'd' ? s.m <= 256 : s.m >= 257 && s.m <= 16384));
      CHECK((is_multiple(s.n, 64) && is_multiple(s.k, 64) && s.n > 0 && s.k > 0));
      counts.insert(s.batch);
      few += s.batch <= 11 ? 1 : 0;  // the geometric mean of 2 and 64 is 11.3
      near += s.flops() > 0.9e12 || s.bytes() > 1.8e9 ? 1 : 0;
    }
    CHECK(counts.size() == 63);
    CHECK((few > kMany * 45 / 100 && few < kMany * 55 / 100));
    // Halving stops as soon as a batch is within the limits.
    CHECK(near > kMany / (name[4] == 'd' ? 4 : 2));
  }
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
