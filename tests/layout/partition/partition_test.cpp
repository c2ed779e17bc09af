// SPDX-License-Identifier: Apache-2.0
#include "layout/partition/partition.hpp"

#include <map>
#include <set>
#include <vector>

#include "layout/algebra/algebra.hpp"
#include "layout/partition/partition_tma.hpp"
#include "tests/layout/brute_force.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string numbers(const int64_t* number, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? "," : "") + std::to_string(number[i]);
  return text;
}

BoxPlan boxes(const char* tensor, const char* smem, const char* tile, const char* coord,
              int64_t ctas = 1, int64_t cta = 0) {
  BoxPlan plan;
  const Status status = partition_tma(L(tensor), L(smem), T(tile), T(coord), ctas, cta, &plan);
  INFO(smem, ": ", last_failure().message);
  REQUIRE(status.ok());
  return plan;
}

// Every element of the tile arrives exactly once, at its (unswizzled) place in shared memory and
// from its coordinate of the tensor. The CTAs of a cluster together load the whole tile.
void check_boxes(const char* tensor, const char* smem, const char* tile, const char* coord,
                 int64_t ctas) {
  Layout inner = L(smem);
  inner.swizzle = {};
  const IntTuple t = T(tile), at = T(coord);
  int64_t points = 0;
  REQUIRE(product(t, &points).ok());
  std::map<int64_t, std::vector<int64_t>> arrived;  // shared-memory element -> tensor coordinate
  for (int64_t cta = 0; cta < ctas; ++cta) {
    const BoxPlan plan = boxes(tensor, smem, tile, coord, ctas, cta);
    for (int64_t b = 0; b < size(plan.coords); ++b) {
      int64_t first[kMaxLeaves], slot = 0;
      int written = 0;
      REQUIRE(crd2crd(plan.coords, &b, 1, first, &written).ok());
      const int64_t pair[] = {b, 0};
      REQUIRE(crd2idx(plan.slots, pair, plan.slots.rank() > 1 ? 2 : 1, &slot).ok());
      int64_t elements = 1;
      for (int k = 0; k < plan.rank; ++k) elements *= plan.box[k];
      for (int64_t e = 0; e < elements; ++e) {
        std::vector<int64_t> where(first, first + plan.rank);
        int64_t rest = e;
        for (int u = 0; u < plan.rank; ++u) {
          const int k = plan.order[u];
          where[static_cast<size_t>(k)] += rest % plan.box[k];
          rest /= plan.box[k];
        }
        REQUIRE(arrived.emplace(slot + e, where).second);
      }
    }
  }
  REQUIRE(static_cast<int64_t>(arrived.size()) == points);
  // Compare with the layout, coordinate by coordinate.
  for (int64_t i = 0; i < points; ++i) {
    IntTuple c;
    REQUIRE(idx2crd(t, i, &c).ok());
    int64_t linear[kMaxLeaves], slot = 0;
    for (int k = 0; k < c.leaves; ++k) linear[k] = c.value[k];
    int modes = c.leaves;
    for (int k = c.leaves; k < inner.rank(); ++k) linear[modes++] = 0;
    REQUIRE(crd2idx(inner, linear, modes, &slot).ok());
    REQUIRE(arrived.count(slot) == 1);
    for (int k = 0; k < c.leaves; ++k)
      REQUIRE(arrived[slot][static_cast<size_t>(k)] == c.value[k] + t.value[k] * at.value[k]);
  }
}

}  // namespace

TEST_CASE("a thread's values in every tile") {
  // 4x32 threads with 4x4 values each, in tiles of 16x128.
  int64_t offset = 0;
  Layout out;
  REQUIRE(partition_tv(L("(64,256):(256,1)"), T("(16,128)"), L("((32,4),(4,4)):((64,4),(16,1))"),
                       33, &out, &offset)
              .ok());
  CHECK(str(out) == "((4,4),4,2):((1,256),4096,128)");
  CHECK(offset == 4 * 256 + 4);
  // An identity tensor yields coordinates, which kernels use as predicates.
  Layout identity;
  REQUIRE(make_identity_layout(T("(60,250)"), &identity).ok());
  REQUIRE(
      partition_tv(identity, T("(16,128)"), L("((32,4),(4,4)):((64,4),(16,1))"), 33, &out, &offset)
          .ok());
  CHECK(offset == 0);
  IntTuple at;
  REQUIRE(crd2crd(out, T("((3,2),3,1)"), &at).ok());
  CHECK(str(at) == "(54,135)");
  bool less = false;
  REQUIRE(elem_less(at, T("(60,250)"), &less).ok());
  CHECK(less);
  REQUIRE(crd2crd(out, T("((3,3),3,1)"), &at).ok());
  CHECK(str(at) == "(55,135)");
  CHECK(partition_tv(L("(64,256):(256,1)"), T("(16,128)"), L("(32,4):(1,32)"), 32, &out, &offset)
            .code() == Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("all threads together have every element once") {
  std::set<int64_t> seen;
  for (int64_t thread = 0; thread < 128; ++thread) {
    Layout out;
    int64_t offset = 0;
    REQUIRE(partition_tv(L("(32,256):(256,1)"), T("(16,128)"), L("((32,4),(4,4)):((64,4),(16,1))"),
                         thread, &out, &offset)
                .ok());
    for (int64_t x : flat(out).table()) CHECK(seen.insert(x + offset).second);
  }
  CHECK(seen.size() == 32 * 256);
}

TEST_CASE("boxes of a tile: one for each panel of the swizzle's width") {
  const BoxPlan plan = boxes("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
                             "(128,128)", "(2,1)");
  CHECK(numbers(plan.box, 2) == "128,64");
  CHECK(plan.order[0] == 1);
  CHECK(str(plan.coords) == "(256,128) o 2:64@1");
  CHECK(str(plan.slots) == "(2):(8192)");
  // The coordinate tensor of a tensor map yields coordinates in the map's order, innermost first.
  CHECK(str(boxes("(0,0) o (1024,512):(1@1,1@0)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
                  "(128,128)", "(2,1)")
                .coords) == "(128,256) o 2:64@0");
}

TEST_CASE("a box's rows are no wider than the TMA's swizzle of the same pattern") {
  const struct {
    const char* smem;
    int64_t columns;  // of 2 bytes
  } kCases[] = {{"Sw<3,3,3> o 0 o (16,128):(128,1)", 64},
                {"Sw<2,3,3> o 0 o (16,128):(128,1)", 32},
                {"Sw<1,3,3> o 0 o (16,128):(128,1)", 16}};
  for (const auto& one : kCases) {
    INFO(one.smem);
    const BoxPlan plan = boxes("(256,256):(256,1)", one.smem, "(16,128)", "(0,0)");
    CHECK(plan.box[1] == one.columns);
  }
}

TEST_CASE("stages are the last mode of the slots") {
  const BoxPlan plan =
      boxes("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,64,4):(64,1,8192)", "(128,64)", "(0,0)");
  CHECK(numbers(plan.box, 2) == "128,64");
  CHECK(str(plan.coords) == "(0,0) o 1:0");
  CHECK(str(plan.slots) == "(1,4):(0,8192)");
}

TEST_CASE("a cluster shares the box") {
  const BoxPlan plan = boxes("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,64,4):(64,1,8192)",
                             "(128,64)", "(1,0)", 4, 3);
  CHECK(numbers(plan.box, 2) == "32,64");
  CHECK(str(plan.coords) == "(224,0) o 1:0");
  CHECK(str(plan.slots) == "6144 o (1,4):(0,8192)");
}

TEST_CASE("every element arrives once, at its place") {
  check_boxes("(256,256):(256,1)", "Sw<3,3,3> o 0 o (32,(64,2)):(64,(1,2048))", "(32,128)", "(1,0)",
              1);
  check_boxes("(256,256):(256,1)", "Sw<3,3,3> o 0 o (32,(64,2)):(64,(1,2048))", "(32,128)", "(1,0)",
              4);
  check_boxes("(256,256):(1,256)", "(64,8):(1,64)", "(64,8)", "(0,3)", 2);
  check_boxes("(256,256):(1,256)", "(64,8):(1,72)", "(64,8)", "(0,3)", 2);     // padded rows
  check_boxes("(256,512):(512,1)", "(4,512):(512,1)", "(4,512)", "(2,0)", 1);  // wider than a box
  check_boxes("(64,64,64):(4096,64,1)", "(4,8,16,2):(128,16,1,512)", "(4,8,16)", "(0,1,2)", 8);
  check_boxes("(64,64):(64,1)", "((8,2),(8,2)):((8,128),(1,64))", "(16,16)", "(1,1)", 1);
}

TEST_CASE("what the TMA cannot do is refused") {
  BoxPlan plan;
  CHECK(partition_tma(L("(64,64):(1,64)"), L("(8,8):(8,1)"), T("(8,8)"), T("(0,0)"), 1, 0, &plan)
            .code() == Code::ERROR_NOT_A_LAYOUT);
  CHECK(said("cannot transpose"));
  CHECK(partition_tma(L("(64,64):(64,1)"), L("(8,8):(0,1)"), T("(8,8)"), T("(0,0)"), 1, 0, &plan)
            .code() == Code::ERROR_NOT_A_LAYOUT);
  CHECK(partition_tma(L("(64,64):(64,1)"), L("(8,8):(8,1)"), T("(8,16)"), T("(0,0)"), 1, 0, &plan)
            .code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(partition_tma(L("(64,64):(64,1)"), L("(8,8):(8,1)"), T("(8,8)"), T("(8,0)"), 1, 0, &plan)
            .code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(partition_tma(L("(64,64):(64,1)"), L("(8,8):(8,1)"), T("(8,8)"), T("(0,0)"), 3, 0, &plan)
            .code() == Code::ERROR_NOT_A_LAYOUT);
}

TEST_CASE("bank conflicts") {
  int64_t passes = 0, least = 0;
  const auto count = [&](const char* layout, int bits, const char* tv, int bytes) {
    const Status status = bank_passes(L(layout), bits, L(tv), bytes, &passes, &least);
    INFO(layout, ": ", last_failure().message);
    REQUIRE(status.ok());
    return passes;
  };
  // A row of f32 has no bank conflict. A column lies in one bank, unless it is padded or swizzled.
  CHECK(count("(32,32):(32,1)", 32, "(32,1):(32,0)", 4) == 1);
  CHECK(count("(32,32):(32,1)", 32, "(32,1):(1,0)", 4) == 32);
  CHECK(least == 1);
  CHECK(count("(32,32):(33,1)", 32, "(32,1):(1,0)", 4) == 1);
  CHECK(count("Sw<5,0,5> o 0 o (32,32):(32,1)", 32, "(32,1):(1,0)", 4) == 1);
  // Rows of 128 bytes, 16 bytes a thread: 8 threads share four banks, or swizzled none do.
  CHECK(count("(8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) == 32);
  CHECK(least == 4);
  CHECK(count("Sw<3,3,3> o 0 o (8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) == 4);
  // All threads that read the same word are served at once.
  CHECK(count("(32,32):(32,1)", 32, "(32,1):(0,0)", 4) == 1);
  CHECK(count("(32,64):(64,1)", 32, "(32,2):(64,32)", 8) == 2);
  CHECK(bank_passes(L("(32,32):(32,1)"), 32, L("(32,2):(1,0)"), 8, &passes, &least).code() ==
        Code::ERROR_INVALID_ARGUMENT);
  CHECK(bank_passes(L("(32,33):(33,1)"), 32, L("(2,2):(1,32)"), 8, &passes, &least).code() ==
        Code::ERROR_MISALIGNED);
  CHECK(bank_passes(L("(64,32):(32,1)"), 32, L("(64,1):(1,0)"), 4, &passes, &least).code() ==
        Code::ERROR_INVALID_ARGUMENT);
}
