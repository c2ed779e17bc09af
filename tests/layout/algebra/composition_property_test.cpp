// SPDX-License-Identifier: Apache-2.0
// A million random compositions. Every accepted one equals A(B(x)) at each point, and every refused
// one is a function that no layout represents.
#include "layout/algebra/algebra.hpp"
#include "tests/layout/brute_force.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Counts {
  int64_t accepted = 0;
  int64_t refused = 0;
  int64_t beyond = 0;  // refused because B reaches beyond A's end; not judged
};

// Each leaf of B is split into modes of R whose sizes multiply to it.
bool refines(const Layout& r, const Layout& b) {
  return compatible(b.shape, r.shape);
}

void check_one(const Layout& a, const Layout& b, Counts* counts) {
  const Flat fa = flat(a), fb = flat(b);
  std::vector<int64_t> wanted;
  bool inside = true;
  for (int64_t x : fb.table()) {
    inside = inside && x >= 0 && x < fa.size();
    if (x < 0) return;  // CuTe does not define negative coordinates
    wanted.push_back(fa.at(x));
  }
  Layout r;
  const Status status = composition(a, b, &r);
  if (status.ok()) {
    ++counts->accepted;
    const bool right = flat(r).table() == wanted && refines(r, b);
    if (right) return;
    CAPTURE(str(a));
    CAPTURE(str(b));
    CAPTURE(str(r));
    CHECK(right);
    return;
  }
  if (status.code() == Code::ERROR_NOT_A_LAYOUT && !inside) {
    ++counts->beyond;
    return;
  }
  ++counts->refused;
  const bool justified = status.code() == Code::ERROR_NOT_A_LAYOUT && !is_layout(fb.extent, wanted);
  if (justified) return;
  CAPTURE(str(a));
  CAPTURE(str(b));
  CAPTURE(last_failure().message);
  CHECK(justified);
}

}  // namespace

TEST_CASE("a million compositions are right or rightly refused") {
  Random random(20260801);
  Counts counts;
  for (int i = 0; i < 1000000; ++i) {
    const Layout a = random.layout(512, i % 4 == 0);
    const Layout b = random.layout(64);
    check_one(a, b, &counts);
  }
  MESSAGE("accepted ", counts.accepted, ", refused ", counts.refused, ", beyond the end ",
          counts.beyond);
  CHECK(counts.accepted > 100000);
  CHECK(counts.refused > 20000);
}

TEST_CASE("small operands, where carries cancel most, all of one kind") {
  // Every (a0,a1,a2):(1,d1,d2) o s:d with small numbers.
  Counts counts;
  for (int64_t a0 = 2; a0 <= 4; ++a0)
    for (int64_t a1 = 2; a1 <= 3; ++a1)
      for (int64_t d1 = 0; d1 <= 9; ++d1)
        for (int64_t d2 = 0; d2 <= 12; ++d2)
          for (int64_t s = 2; s <= 8; ++s)
            for (int64_t d = 1; d <= 7; ++d) {
              const int64_t ea[] = {a0, a1, 4}, da[] = {1, d1, d2};
              Layout a, b;
              REQUIRE(make_flat(3, ea, da, &a).ok());
              REQUIRE(make_flat(1, &s, &d, &b).ok());
              check_one(a, b, &counts);
            }
  CHECK(counts.accepted > 1000);
  CHECK(counts.refused > 1000);
}

TEST_CASE("the decider decides") {
  CHECK(is_layout({6}, {0, 24, 48, 9, 33, 57}));
  CHECK_FALSE(is_layout({6}, {0, 24, 48, 9, 33, 58}));
  CHECK_FALSE(is_layout({6}, {0, 1, 2, 3, 8, 9}));
  CHECK(is_layout({2, 3}, {0, 1, 5, 6, 10, 11}));
  CHECK_FALSE(is_layout({2, 3}, {0, 1, 5, 6, 10, 12}));
}
