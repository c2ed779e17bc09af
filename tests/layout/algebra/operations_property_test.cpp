// SPDX-License-Identifier: Apache-2.0
// The other operations on random layouts, each checked point by point against its definition.
#include <algorithm>
#include <set>

#include "layout/algebra/algebra.hpp"
#include "tests/layout/brute_force.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kRounds = 20000;

bool distinct(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

// The tile and the rest of a zipped layout, as separate functions.
struct Pair {
  Flat tile;
  Flat rest;
};
Pair pair_of(const Layout& zipped) {
  return {flat(zipped, zipped.mode(0)), flat(zipped, zipped.mode(1))};
}

Tiler tiler_of(const Layout& layout) {
  Tiler tiler;
  REQUIRE(make_tiler(layout, &tiler).ok());
  return tiler;
}

}  // namespace

TEST_CASE("texts and coordinates") {
  Random random(1);
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(512, true);
    CAPTURE(str(a));
    REQUIRE(equal(L(str(a)), a));
    const int64_t linear = random.below(size(a));
    IntTuple coord;
    int64_t index = 0;
    REQUIRE(idx2crd(a.shape, linear, &coord).ok());
    REQUIRE(crd2idx(a, coord, &index).ok());
    REQUIRE(index == flat(a).at(linear));
    REQUIRE(crd2idx(a, coord.value, a.leaves(), &index).ok());
    REQUIRE(index == flat(a).at(linear));
    int64_t found = 0;
    REQUIRE(find(a, index, &found).ok());
    REQUIRE(found <= linear);
    REQUIRE(flat(a).at(found) == index);
  }
}

TEST_CASE("injective, surjective, contiguous") {
  Random random(2);
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(512, true);
    CAPTURE(str(a));
    std::vector<int64_t> values = flat(a).table();
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const bool once = static_cast<int64_t>(values.size()) == size(a);
    const bool whole = values.back() - values.front() + 1 == static_cast<int64_t>(values.size());
    bool yes = false;
    REQUIRE(is_injective(a, &yes).ok());
    REQUIRE(yes == once);
    REQUIRE(is_surjective(a, &yes).ok());
    REQUIRE(yes == whole);
    REQUIRE(is_contiguous(a, &yes).ok());
    REQUIRE(yes == (once && whole));
  }
}

TEST_CASE("surjective and contiguous with a swizzle, which fills gaps and leaves the range") {
  Random random(21);
  int gaps_filled = 0;
  int gaps_made = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(16, true);
    const int64_t bits = 1 + random.below(3);
    const int64_t shift = (bits + random.below(3)) * (random.below(2) == 0 ? 1 : -1);
    const int64_t base = random.below(4);
    const int64_t offset = random.below(3) == 0 ? random.below(40) - 20 : 0;
    const std::string text = "Sw<" + std::to_string(bits) + "," + std::to_string(base) + "," +
                             std::to_string(shift) + "> o " + std::to_string(offset) + " o " +
                             str(a);
    CAPTURE(text);
    // Sw<B,M,S>: the B bits from M + max(0,S) on are XORed onto the bits S places lower.
    const auto swizzled = [&](int64_t x) {
      const int64_t picked =
          x & (((int64_t{1} << bits) - 1) << (base + std::max<int64_t>(shift, 0)));
      return x ^ (shift > 0 ? picked >> shift : picked << -shift);
    };
    const auto is_whole = [](std::set<int64_t>& values) {
      return *values.rbegin() - *values.begin() + 1 == static_cast<int64_t>(values.size());
    };
    std::set<int64_t> before, after;
    for (const int64_t value : flat(a).table()) {
      before.insert(value + offset);
      after.insert(swizzled(value + offset));
    }
    gaps_filled += is_whole(after) && !is_whole(before);
    gaps_made += is_whole(before) && !is_whole(after);
    bool yes = false;
    REQUIRE(is_surjective(L(text), &yes).ok());
    REQUIRE(yes == is_whole(after));
    REQUIRE(is_contiguous(L(text), &yes).ok());
    REQUIRE(yes == (is_whole(after) && static_cast<int64_t>(after.size()) == size(a)));
  }
  CHECK(gaps_filled > 10);
  CHECK(gaps_made > 10);
}

TEST_CASE("what a swizzle does to the gaps of a layout too large to list") {
  bool yes = true;
  // Too large to list: the answer is known only if the gaps contain whole swizzle blocks or if
  // whole blocks are filled. Every other layout is refused as unsupported.
  CHECK(is_surjective(L("Sw<3,4,3> o 0 o (4096,4096):(8192,1)"), &yes).ok());
  CHECK(!yes);
  CHECK(is_contiguous(L("Sw<3,4,3> o 0 o (4096,4096):(4096,1)"), &yes).ok());
  CHECK(yes);
  CHECK(is_surjective(L("Sw<3,4,3> o 1 o (4096,4096):(4096,1)"), &yes).code() ==
        Code::ERROR_UNSUPPORTED);
  CHECK(said("up to 1048576 coordinates, here are 16777216"));
}

TEST_CASE("coalesce, filter and flatten keep the function") {
  Random random(3);
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(512, true);
    CAPTURE(str(a));
    Layout r;
    REQUIRE(coalesce(a, &r).ok());
    REQUIRE(flat(r).table() == flat(a).table());
    REQUIRE(r.depth() <= 1);
    REQUIRE(flatten(a, &r).ok());
    REQUIRE(flat(r).table() == flat(a).table());
    REQUIRE(filter(a, &r).ok());
    const std::vector<int64_t> before = flat(a).table(), after = flat(r).table();
    REQUIRE(std::set<int64_t>(before.begin(), before.end()) ==
            std::set<int64_t>(after.begin(), after.end()));
  }
}

TEST_CASE("complement: disjoint, ordered, and large enough") {
  Random random(4);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(64);
    const int64_t cosize = 1 + random.below(200);
    CAPTURE(str(a));
    Layout r, seen;
    if (!complement(a, cosize, &r).ok()) {
      REQUIRE(last_failure().code == Code::ERROR_NOT_A_LAYOUT);
      continue;
    }
    ++accepted;
    REQUIRE(filter(a, &seen).ok());
    const std::vector<int64_t> rest = flat(r).table();
    REQUIRE(std::is_sorted(rest.begin(), rest.end()));
    std::vector<int64_t> sums;
    for (int64_t x : flat(seen).table())
      for (int64_t y : rest) sums.push_back(x + y);
    REQUIRE(distinct(sums));
    // A further repetition of the rest's last mode would begin at or beyond the requested cosize.
    int64_t end = 1;
    for (const Flat& f : {flat(seen), flat(r)})
      for (size_t k = 0; k < f.extent.size(); ++k) end = std::max(end, f.extent[k] * f.stride[k]);
    REQUIRE(end >= cosize);
  }
  CHECK(accepted > kRounds / 3);
}

TEST_CASE("inverses undo") {
  Random random(5);
  int left = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(256);
    const Flat fa = flat(a);
    CAPTURE(str(a));
    Layout r;
    REQUIRE(right_inverse(a, &r).ok());
    for (int64_t k = 0; k < size(r); ++k) REQUIRE(fa.at(flat(r).at(k)) == k);
    if (!left_inverse(a, &r).ok()) continue;
    ++left;
    const Flat fr = flat(r);
    const bool once = distinct(fa.table());
    for (int64_t k = 0; k < size(a); ++k) {
      const int64_t back = fr.at(fa.at(k));
      REQUIRE((once ? back == k : fa.at(back) == fa.at(k)));
    }
  }
  CHECK(left > kRounds / 3);
}

TEST_CASE("divides cover the layout tile by tile") {
  Random random(6);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(256), b = random.layout(16);
    CAPTURE(str(a));
    CAPTURE(str(b));
    const Tiler tiler = tiler_of(b);
    Layout zipped, logical, rest;
    if (!zipped_divide(a, tiler, &zipped).ok()) continue;
    ++accepted;
    REQUIRE(logical_divide(a, tiler, &logical).ok());
    REQUIRE(equal(logical, zipped));
    // The definition of a division: tile(i) + rest(j) = A(B(i) + complement(j)).
    REQUIRE(complement(b, size(a), &rest).ok());
    const Flat fa = flat(a), fb = flat(b), fc = flat(rest);
    const Pair pair = pair_of(zipped);
    REQUIRE(pair.tile.size() == fb.size());
    REQUIRE(pair.rest.size() == fc.size());
    for (int64_t j = 0; j < fc.size(); ++j)
      for (int64_t k = 0; k < fb.size(); ++k)
        REQUIRE(pair.tile.at(k) + pair.rest.at(j) == fa.at(fb.at(k) + fc.at(j)));
    Layout tiled, level;
    REQUIRE(tiled_divide(a, tiler, &tiled).ok());
    REQUIRE(flat_divide(a, tiler, &level).ok());
    REQUIRE(flat(tiled).table() == flat(zipped).table());
    REQUIRE(flat(level).table() == flat(zipped).table());
  }
  CHECK(accepted > kRounds / 8);
}

TEST_CASE("divides leave no index out, or say which and why") {
  const Tiler gaps = tiler_of(L("(2,4):(5,1)"));
  Layout out;
  const auto refused = [&](Status status) {
    CHECK(status.code() == Code::ERROR_NOT_A_LAYOUT);
    CHECK(std::string(last_failure().fault.argument) == "tiler");
    CHECK(said("2:5"));
    CHECK(said("multiple of 4"));
    CHECK(said("coordinate 4 of the layout"));
  };
  refused(logical_divide(L("11:64"), gaps, &out));
  refused(zipped_divide(L("11:64"), gaps, &out));
  refused(tiled_divide(L("11:64"), gaps, &out));
  refused(flat_divide(L("11:64"), gaps, &out));
  Tiler by_mode;
  REQUIRE(parse("<(2,4):(5,1),4>", &by_mode).ok());
  refused(logical_divide(L("(11,8):(1,11)"), by_mode, &out));
  // The first tile holds the whole layout of four elements: its gap lies behind them.
  CHECK(logical_divide(L("4:64"), gaps, &out).ok());
  // CuTe accepts this one and answers with 128 of the 384 indices missing.
  CHECK_FALSE(logical_divide(L("(12,32):(32,1)"), tiler_of(L("(4,2):(1,6)")), &out).ok());
  Random random(14);
  int accepted = 0, left_out = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(256), b = random.layout(16);
    CAPTURE(str(a));
    CAPTURE(str(b));
    Layout rest;
    if (!complement(b, size(a), &rest).ok()) continue;
    std::vector<int64_t> reached;
    for (const int64_t x : flat(b).table())
      for (const int64_t y : flat(rest).table()) reached.push_back(x + y);
    bool covers = true;
    for (int64_t x = 0; x < size(a); ++x)
      covers = covers && std::find(reached.begin(), reached.end(), x) != reached.end();
    const bool divided = logical_divide(a, tiler_of(b), &out).ok();
    if (divided) REQUIRE(covers);
    accepted += divided;
    left_out += !covers;
  }
  CHECK(accepted > kRounds / 8);
  CHECK(left_out > 10);
}

TEST_CASE("divides by mode are divides of each mode") {
  Random random(7);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(256);
    if (a.depth() == 0) continue;
    int64_t extents[4];
    for (int64_t& e : extents) e = random.extent();
    const int rank = 1 + static_cast<int>(random.below(a.rank()));
    Tiler tiler;
    REQUIRE(make_tiler(rank, extents, &tiler).ok());
    CAPTURE(str(a));
    CAPTURE(str(tiler));
    Layout zipped;
    if (!zipped_divide(a, tiler, &zipped).ok()) continue;
    ++accepted;
    const Layout z = zipped;
    for (int m = 0; m < rank; ++m) {
      const Flat fa = flat(a, a.mode(m));
      const Flat tile = flat(z, z.shape.child(z.mode(0), m));
      const Flat rest = flat(z, z.shape.child(z.mode(1), m));
      REQUIRE(tile.size() == extents[m]);
      for (int64_t j = 0; j < rest.size(); ++j)
        for (int64_t k = 0; k < tile.size(); ++k)
          REQUIRE(tile.at(k) + rest.at(j) == fa.at(k + j * extents[m]));
    }
  }
  CHECK(accepted > kRounds / 4);
}

TEST_CASE("products repeat the layout without overlap") {
  Random random(8);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(32), b = random.layout(16);
    CAPTURE(str(a));
    CAPTURE(str(b));
    const Tiler tiler = tiler_of(b);
    Layout zipped, blocked, raked;
    if (!zipped_product(a, tiler, &zipped).ok()) continue;
    ++accepted;
    const Pair pair = pair_of(zipped);
    REQUIRE(pair.tile.table() == flat(a).table());
    REQUIRE(pair.rest.size() == size(b));
    // The copies lie at complement(A) o B. They are disjoint if A and B are injective.
    std::vector<int64_t> all;
    for (int64_t j = 0; j < pair.rest.size(); ++j)
      for (int64_t k = 0; k < pair.tile.size(); ++k)
        all.push_back(pair.tile.at(k) + pair.rest.at(j));
    if (distinct(flat(a).table()) && distinct(flat(b).table())) REQUIRE(distinct(all));
    REQUIRE(blocked_product(a, b, &blocked).ok());
    REQUIRE(raked_product(a, b, &raked).ok());
    std::sort(all.begin(), all.end());
    for (const Layout* other : {&blocked, &raked}) {
      std::vector<int64_t> values = flat(*other).table();
      std::sort(values.begin(), values.end());
      REQUIRE(values == all);
    }
  }
  CHECK(accepted > kRounds / 8);
}

TEST_CASE("slices, tiles and recasts") {
  Random random(9);
  for (int i = 0; i < kRounds; ++i) {
    const Layout a = random.layout(512);
    CAPTURE(str(a));
    if (a.depth() > 0) {
      // Fix one mode and keep the others free.
      IntTuple coord;
      const int fixed = static_cast<int>(random.below(a.rank()));
      for (int m = 0; m < a.rank(); ++m)
        coord.push(m == fixed ? random.below(size(a, a.mode(m))) : kFree, 1, 1);
      Layout part;
      int64_t offset = 0;
      REQUIRE(slice(a, coord, &part, &offset).ok());
      REQUIRE(offset == flat(a, a.mode(fixed)).at(coord.value[fixed]));
      REQUIRE(size(part) * size(a, a.mode(fixed)) == size(a));
    }
    const int64_t n = int64_t{1} << random.below(4);
    Layout up, down;
    if (downcast(a, n, &down).ok()) {
      REQUIRE(size(down) == n * size(a));
      REQUIRE(upcast(down, n, &up).ok());
      REQUIRE(flat(up).table() == flat(a).table());
    }
  }
}
