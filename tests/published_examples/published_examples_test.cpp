// SPDX-License-Identifier: Apache-2.0
// Layout results that published tutorials print, as literal expectations, through the C API.
#include <string>
#include <vector>

#include "../golden/layout_ops.hpp"
#include "doctest_main.hpp"

using golden::layout_of;
using golden::run;
using golden::text_of;
using golden::tuple_of;

namespace {

std::string answer(const std::string& operation, const std::vector<std::string>& operands) {
  const std::string text = text_of(run(operation, operands));
  INFO(operation, ": ", tw_last_error());
  return text;
}

std::string linear_text(const tw_linear* linear) {
  char text[2048] = "";
  REQUIRE(tw_linear_format(linear, text, sizeof text, nullptr) == TW_OK);
  return text;
}

/// A blocked layout of row indices; of two dimensions the first is sliced away.
golden::Linear blocked(std::vector<int64_t> shape, std::vector<int64_t> per_thread,
                       std::vector<int64_t> per_warp, std::vector<int64_t> warps,
                       std::vector<int32_t> order) {
  tw_linear* out = nullptr;
  REQUIRE(tw_linear_blocked(static_cast<int32_t>(shape.size()), shape.data(), per_thread.data(),
                            per_warp.data(), warps.data(), order.data(), &out) == TW_OK);
  return golden::Linear(out);
}

}  // namespace

TEST_CASE("the coordinate tensor of a tensor map and its tile") {
  const std::string tensor = "(0,0) o (1024,512):(1@1,1@0)";
  CHECK(answer("at_coord", {tensor, "(2,3)"}) == "(3,2)");
  CHECK(answer("tile", {tensor, "<16,16>", "(2,3)"}) == "(48,32) o (16,16):(1@1,1@0)");
}

TEST_CASE("make_layout_tv of 4x32 threads with 4x4 values") {
  CHECK(answer("make_layout_tv", {"(4,32):(32,1)", "(4,4):(4,1)"}) ==
        "(16,128) ((32,4),(4,4)):((64,4),(16,1))");
}

TEST_CASE("a thread-value layout of an 8x8 tile, as a table") {
  const golden::Layout tv = layout_of("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))");
  const auto at = [&](int64_t thread, int64_t value) {
    const int64_t pair[] = {thread, value};
    int64_t element = -1;
    REQUIRE(tw_layout_crd2idx(tv.get(), pair, 2, &element) == TW_OK);
    return element;
  };
  CHECK(at(0, 0) == 0);
  CHECK(at(1, 0) == 1);
  CHECK(at(2, 0) == 16);
  CHECK(at(4, 0) == 4);
  CHECK(at(0, 1) == 8);
  CHECK(at(0, 2) == 2);
  CHECK(at(0, 4) == 32);
  // The (thread, value) of each element, row by row.
  static const char* const kTable[8] = {
      "T0V0 T0V1 T2V0 T2V1 T0V4 T0V5 T2V4 T2V5", "T1V0 T1V1 T3V0 T3V1 T1V4 T1V5 T3V4 T3V5",
      "T0V2 T0V3 T2V2 T2V3 T0V6 T0V7 T2V6 T2V7", "T1V2 T1V3 T3V2 T3V3 T1V6 T1V7 T3V6 T3V7",
      "T4V0 T4V1 T6V0 T6V1 T4V4 T4V5 T6V4 T6V5", "T5V0 T5V1 T7V0 T7V1 T5V4 T5V5 T7V4 T7V5",
      "T4V2 T4V3 T6V2 T6V3 T4V6 T4V7 T6V6 T6V7", "T5V2 T5V3 T7V2 T7V3 T5V6 T5V7 T7V6 T7V7"};
  for (int64_t row = 0; row < 8; ++row) {
    std::string line;
    for (int64_t column = 0; column < 8; ++column) {
      int64_t linear = -1;
      REQUIRE(tw_layout_find(tv.get(), row + 8 * column, &linear) == TW_OK);
      line += (column ? " T" : "T") + std::to_string(linear % 8) + "V" + std::to_string(linear / 8);
    }
    CHECK(line == kTable[row]);
  }
}

TEST_CASE("(9,(4,8)) divided by <3:3,(2,4):(1,8)>") {
  const std::string a = "(9,(4,8)):(59,(13,1))", tiler = "<3:3,(2,4):(1,8)>";
  CHECK(answer("logical_divide", {a, tiler}) == "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
  CHECK(answer("zipped_divide", {a, tiler}) == "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
  CHECK(answer("composition_tiler", {a, tiler}) == "(3,(2,4)):(177,(13,2))");
}

TEST_CASE("the zipped (16,128) tiles of an (m,n) tensor, sliced for a block") {
  // ((16,128),(4,4)) of a row-major 64x512 tensor; block 6 is tile (2,1).
  const std::string tiles = answer("zipped_divide", {"(64,512):(512,1)", "<16,128>"});
  CHECK(tiles == "((16,128),(4,4)):((512,1),(8192,128))");
  CHECK(answer("slice", {tiles, "((_,_),6)"}) == "16512 + (16,128):(512,1)");
}

TEST_CASE("a (6,8) tensor tiled by (2,4), the tile at (1,1)") {
  CHECK(answer("tile", {"(6,8):(8,1)", "<2,4>", "(1,1)"}) == "20 + (2,4):(8,1)");
  CHECK(answer("zipped_divide", {"(6,8):(8,1)", "<2,4>"}) == "((2,4),(3,2)):((8,1),(16,4))");
}

TEST_CASE("which layouts of 256 row indices suit gather4") {
  int64_t per_warp = 0, warps = 0;
  const golden::Linear parent = blocked({1, 256}, {1, 4}, {32, 1}, {1, 4}, {1, 0});
  tw_linear* handle = nullptr;
  REQUIRE(tw_linear_slice(parent.get(), 0, &handle) == TW_OK);
  const golden::Linear sliced(handle);
  CHECK(linear_text(handle) ==
        "register=[[1],[2],[16],[32],[64],[128]] lane=[[0],[0],[0],[0],[0]] warp=[[4],[8]] "
        "block=[] -> (256)");
  CHECK(tw_linear_gather4(handle, &per_warp, &warps) == TW_OK);
  CHECK(per_warp == 16);
  CHECK(warps == 4);

  const golden::Linear one = blocked({256}, {256}, {32}, {4}, {0});
  CHECK(linear_text(one.get()) ==
        "register=[[1],[2],[4],[8],[16],[32],[64],[128]] lane=[[0],[0],[0],[0],[0]] "
        "warp=[[0],[0]] block=[] -> (256)");
  CHECK(tw_linear_gather4(one.get(), &per_warp, &warps) == TW_OK);
  CHECK(per_warp == 64);
  CHECK(warps == 1);

  const golden::Linear spread = blocked({256}, {4}, {32}, {4}, {0});
  CHECK(linear_text(spread.get()) ==
        "register=[[1],[2]] lane=[[4],[8],[16],[32],[64]] warp=[[128],[0]] block=[] -> (256)");
  CHECK(tw_linear_gather4(spread.get(), &per_warp, &warps) == TW_ERROR_UNSUPPORTED);
  CHECK(std::string(tw_last_error()).find("lane basis 0 is [4]") != std::string::npos);
  CHECK(per_warp == 0);
}

TEST_CASE("the hardware's 128-byte swizzle on bf16") {
  CHECK(answer("recast", {"Sw<3,4,3> o 0 o (8,128):(128,1)", "8", "16"}) ==
        "Sw<3,3,3> o 0 o (8,64):(64,1)");
  const golden::Layout layout = layout_of("Sw<3,3,3> o 0 o (64,64):(64,1)");
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < 64; ++column) {
      const int64_t pair[] = {row, column};
      int64_t index = -1;
      REQUIRE(tw_layout_crd2idx(layout.get(), pair, 2, &index) == TW_OK);
      REQUIRE(index == row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8);
    }
}
