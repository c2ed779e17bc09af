// SPDX-License-Identifier: Apache-2.0
#include "layout/linear/linear.hpp"

#include "layout/linear/linear_algebra.hpp"
#include "tests/layout/brute_force.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

LinearLayout linear(const char* text) {
  LinearLayout layout;
  const Status status = parse(text, &layout);
  INFO(text, ": ", last_failure().message);
  REQUIRE(status.ok());
  return layout;
}

LinearLayout blocked(int64_t rows, int64_t columns, std::vector<int64_t> per_thread,
                     std::vector<int64_t> per_warp, std::vector<int64_t> warps,
                     std::vector<int32_t> order) {
  LinearLayout out;
  const int64_t shape[] = {rows, columns};
  REQUIRE(
      linear_blocked(2, shape, per_thread.data(), per_warp.data(), warps.data(), order.data(), &out)
          .ok());
  return out;
}

}  // namespace

TEST_CASE("linear layouts as text") {
  for (const char* text :
       {"register=[[1],[2]] lane=[[4],[8],[16],[32],[64]] warp=[[128]] block=[] -> (256)",
        "register=[[0,1],[8,0]] lane=[[1,0],[3,2]] warp=[] block=[] -> (16,4)"})
    CHECK(str(linear(text)) == text);
  CHECK(str(linear("lane=[[1]]->(2)")) == "register=[] lane=[[1]] warp=[] block=[] -> (2)");
  LinearLayout out;
  CHECK(parse("register=[[4]] -> (4)", &out).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(parse("register=[[1]] -> (3)", &out).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(parse("register=[[1,1]] -> (4)", &out).code() == Code::ERROR_PARSE);
  CHECK(parse("regs=[[1]] -> (4)", &out).code() == Code::ERROR_PARSE);
  CHECK(parse("register=[[1]", &out).code() == Code::ERROR_PARSE);
}

TEST_CASE("blocked layouts") {
  CHECK(str(blocked(16, 32, {1, 4}, {8, 4}, {2, 2}, {1, 0})) ==
        "register=[[0,1],[0,2]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]] warp=[[0,16],[8,0]] "
        "block=[] -> (16,32)");
  // A tile smaller than the shape is repeated in registers; in a larger one extra bits map to 0.
  CHECK(str(blocked(32, 32, {1, 4}, {8, 4}, {2, 1}, {1, 0})) ==
        "register=[[0,1],[0,2],[0,16],[16,0]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]] warp=[[8,0]] "
        "block=[] -> (32,32)");
  CHECK(str(blocked(4, 8, {1, 4}, {8, 4}, {2, 1}, {1, 0})) ==
        "register=[[0,1],[0,2]] lane=[[0,4],[0,0],[1,0],[2,0],[0,0]] warp=[[0,0]] block=[] -> "
        "(4,8)");
}

TEST_CASE("every element of a blocked layout is where its coordinates say") {
  const LinearLayout layout = blocked(16, 32, {1, 4}, {8, 4}, {2, 2}, {1, 0});
  for (int64_t reg = 0; reg < 4; ++reg)
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t warp = 0; warp < 4; ++warp) {
        const uint64_t element = layout.apply(static_cast<uint64_t>(reg | lane << 2 | warp << 7));
        CHECK(layout.coord(element, 0) == lane / 4 + warp / 2 * 8);
        CHECK(layout.coord(element, 1) == reg + lane % 4 * 4 + warp % 2 * 16);
      }
}

TEST_CASE("slices drop a dimension and the registers that moved in it alone") {
  const LinearLayout parent = blocked(1, 256, {1, 4}, {32, 1}, {1, 4}, {1, 0});
  LinearLayout out;
  CHECK(linear_slice(parent, 0, &out).ok());
  CHECK(str(out) ==
        "register=[[1],[2],[16],[32],[64],[128]] lane=[[0],[0],[0],[0],[0]] warp=[[4],[8]] "
        "block=[] -> (256)");
  CHECK(linear_slice(linear("register=[[1]] -> (2)"), 0, &out).code() ==
        Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("gather4: which index layouts suit, and how many instructions they take") {
  int64_t per_warp = 0, warps = 0;
  CHECK(linear_gather4(linear("register=[[1],[2],[16],[32],[64],[128]] "
                              "lane=[[0],[0],[0],[0],[0]] warp=[[4],[8]] -> (256)"),
                       &per_warp, &warps)
            .ok());
  CHECK(per_warp == 16);
  CHECK(warps == 4);
  CHECK(linear_gather4(linear("register=[[1],[2],[4],[8]] lane=[[16]] -> (32)"), &per_warp, &warps)
            .code() == Code::ERROR_UNSUPPORTED);
  CHECK(said("lane basis 0 is [16]"));
  CHECK(linear_gather4(linear("register=[[2],[1]] lane=[[0]] -> (4)"), &per_warp, &warps).code() ==
        Code::ERROR_UNSUPPORTED);
  CHECK(said("register basis 0 must be [1], not [2]"));
  CHECK(linear_gather4(linear("register=[[1]] lane=[[0]] -> (2)"), &per_warp, &warps).code() ==
        Code::ERROR_UNSUPPORTED);
  CHECK(said("missing"));
}

TEST_CASE("composition and inverse") {
  const LinearLayout layout = blocked(16, 32, {1, 4}, {8, 4}, {2, 2}, {1, 0});
  LinearLayout inverse, both;
  REQUIRE(linear_inverse(layout, &inverse).ok());
  REQUIRE(linear_compose(layout, inverse, &both).ok());
  for (uint64_t i = 0; i < 512; ++i) CHECK(both.apply(i) == i);
  REQUIRE(linear_compose(inverse, layout, &both).ok());
  for (uint64_t i = 0; i < 512; ++i) CHECK(both.apply(i) == i);
  CHECK(linear_inverse(linear("register=[[1],[1]] -> (4)"), &inverse).code() ==
        Code::ERROR_NOT_A_LAYOUT);
  // Lanes that broadcast: the inverse maps to lane 0.
  REQUIRE(linear_inverse(linear("register=[[1]] lane=[[0],[2]] -> (4)"), &inverse).ok());
  CHECK(str(inverse) == "register=[[1,0,0,0],[0,2,0,0]] lane=[] warp=[] block=[] -> (2,4,1,1)");
}

TEST_CASE("from layouts and back") {
  LinearLayout out;
  REQUIRE(linear_from_layout(L("((4,8),(2,2)):((32,1),(16,8))"), 0, nullptr, &out).ok());
  CHECK(str(out) == "register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] warp=[] block=[] -> (128)");
  CHECK(answer([&](Layout* back) { return linear_to_layout(out, back); }) ==
        "((4,8),(2,2)):((32,1),(16,8))");
  REQUIRE(linear_from_layout(L("Sw<3,3,3> o 0 o (64,64):(64,1)"), 0, nullptr, &out).ok());
  Layout back;
  REQUIRE(linear_to_layout(out, &back).ok());
  CHECK(str(back) == "Sw<3,3,3> o 0 o (64,64):(64,1)");
  // Only the row index reaches the swizzled bits, so that strides express this without a swizzle.
  REQUIRE(linear_from_layout(L("Sw<3,3,3> o 0 o (64,8):(64,1)"), 0, nullptr, &out).ok());
  REQUIRE(linear_to_layout(out, &back).ok());
  CHECK(str(back) == "((8,8),8):((72,512),1)");
  CHECK(linear_from_layout(L("(6,4):(1,8)"), 0, nullptr, &out).code() == Code::ERROR_NOT_A_LAYOUT);
  CHECK(linear_from_layout(L("(4,4):(1,2)"), 0, nullptr, &out).code() == Code::ERROR_NOT_A_LAYOUT);
  CHECK(linear_from_layout(L("(4,4):(1,3)"), 0, nullptr, &out).code() == Code::ERROR_NOT_A_LAYOUT);
}

TEST_CASE("random layouts of powers of two survive the way there and back") {
  Random random(11);
  int count = 0;
  for (int i = 0; i < 3000; ++i) {
    // Index bits in random order, divided between threads and values, with or without a swizzle.
    int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int k = 7; k > 0; --k) std::swap(order[k], order[random.below(k + 1)]);
    Layout a;
    LayoutBuilder builder(&a);
    const int threads = 1 + static_cast<int>(random.below(7));
    for (int k = 0; k < 8; ++k)
      builder.leaf(2, int64_t{1} << order[k], 2, k == 0 || k == threads ? 1 : 2);
    REQUIRE(builder.finish().ok());
    if (random.below(2)) a.swizzle = {2, static_cast<int32_t>(random.below(4)), 2};
    LinearLayout map;
    Layout back;
    REQUIRE(linear_from_layout(a, 0, nullptr, &map).ok());
    REQUIRE(linear_to_layout(map, &back).ok());
    ++count;
    for (int64_t c = 0; c < 256; ++c) {
      int64_t x = 0, y = 0;
      REQUIRE(crd2idx(a, &c, 1, &x).ok());
      REQUIRE(crd2idx(back, &c, 1, &y).ok());
      REQUIRE(x == y);
    }
  }
  CHECK(count == 3000);
}

TEST_CASE("the shared-memory layout of a tile by default") {
  int bytes = 0;
  const auto text = [&](int64_t rows, int64_t columns, int bits) {
    return answer(
        [&](Layout* out) { return default_shared_layout(rows, columns, bits, &bytes, out); });
  };
  CHECK(text(128, 64, 16) == "Sw<3,3,3> o 0 o (128,(64,1)):(64,(1,0))");
  CHECK(bytes == 128);
  CHECK(text(64, 128, 16) == "Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))");
  CHECK(text(64, 32, 16) == "Sw<2,3,3> o 0 o (64,(32,1)):(32,(1,0))");
  CHECK(bytes == 64);
  CHECK(text(64, 16, 16) == "Sw<1,3,3> o 0 o (64,(16,1)):(16,(1,0))");
  CHECK(text(64, 24, 16) == "(64,(24,1)):(24,(1,0))");
  CHECK(bytes == 0);
  CHECK(text(4, 64, 16) == "(4,(64,1)):(64,(1,0))");
  CHECK(text(64, 128, 8) == "Sw<3,4,3> o 0 o (64,(128,1)):(128,(1,0))");
  CHECK(text(64, 32, 32) == "Sw<3,2,3> o 0 o (64,(32,1)):(32,(1,0))");
  CHECK(text(0, 32, 32) == "ERROR_INVALID_ARGUMENT");
  CHECK(text(8, 32, 12) == "ERROR_INVALID_ARGUMENT");
}
