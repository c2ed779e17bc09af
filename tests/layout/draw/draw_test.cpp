// SPDX-License-Identifier: Apache-2.0
#include "layout/draw/draw.hpp"

#include <chrono>
#include <string>

#include "layout/draw/svg.hpp"
#include "layout/partition/partition_tma.hpp"
#include "tests/layout/brute_force.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// Tags are closed, special characters are escaped, and numbers are well formed.
void check_svg(const std::string& svg) {
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<text ") == count(svg, "</text>"));
  CHECK(count(svg, "nan") == 0);
  CHECK(count(svg, "inf") == 0);
  bool inside = false;
  bool nested = false;
  for (char c : svg) {
    if (c == '<') {
      nested = nested || inside;
      inside = true;
    }
    if (c == '>') inside = false;
  }
  CHECK_FALSE(nested);
}

std::string drawn(const char* layout, Paint paint, int bits = 0) {
  std::string svg;
  INFO(layout, ": ", last_failure().message);
  REQUIRE(draw(L(layout), paint, bits, &svg).ok());
  check_svg(svg);
  return svg;
}

}  // namespace

TEST_CASE("a cell for every coordinate, with its index") {
  const std::string svg = drawn("(8,8):(8,1)", Paint::index);
  CHECK(count(svg, "<rect ") == 64 + 1);
  CHECK(count(svg, ">63</text>") == 1);
  CHECK(count(svg, "(8,8):(8,1)") == 1);
  CHECK(count(drawn("(4,(2,3)):(1,(4,8))", Paint::none), "<rect ") == 24 + 1);
  CHECK(count(drawn("7:3", Paint::none), ">18</text>") == 1);
}

TEST_CASE("a swizzled layout is drawn with and without its swizzle") {
  const std::string svg = drawn("Sw<3,3,3> o 0 o (8,64):(64,1)", Paint::banks, 16);
  CHECK(count(svg, "<rect ") == 2 * 512 + 1);
  CHECK(count(svg, "without the swizzle") == 1);
  CHECK(count(svg, "Sw&lt;3,3,3&gt;") == 1);
}

TEST_CASE("the same bank has the same color") {
  const std::string svg = drawn("(2,32):(32,1)", Paint::banks, 32);
  const auto color_at = [&](int cell) {
    size_t at = 0;
    for (int i = 0; i <= cell + 1; ++i) at = svg.find("<rect ", at) + 1;
    return svg.substr(svg.find("fill=", at) + 6, 7);
  };
  CHECK(color_at(0) == color_at(32));
  CHECK(color_at(0) != color_at(1));
  CHECK(color_at(5) != color_at(6));
}

TEST_CASE("threads and values") {
  std::string svg;
  REQUIRE(draw_tv(L("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"), T("(8,8)"), &svg).ok());
  check_svg(svg);
  CHECK(count(svg, ">T5</text>") == 8);
  CHECK(count(svg, ">V3</text>") == 8);
  CHECK(draw_tv(L("(4,4):(1@0,1@1)"), T("(4,4)"), &svg).code() == Code::ERROR_INVALID_ARGUMENT);
  for (const char* tile : {"(4,0)", "(-4,-4)", "(4,(-2,-2))", "()"})
    CHECK(draw_tv(L("(4,4):(1,4)"), T(tile), &svg).code() == Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("boxes over a tensor") {
  BoxPlan plan;
  REQUIRE(partition_tma(L("(256,256):(256,1)"), L("Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))"),
                        T("(128,128)"), T("(1,0)"), 1, 0, &plan)
              .ok());
  std::string svg;
  REQUIRE(draw_boxes(L("(256,256):(256,1)"), plan.box, plan.coords, &svg).ok());
  check_svg(svg);
  CHECK(count(svg, "<rect ") == 2 * 4 + 1);
  CHECK(count(svg, "128 x 64") == 2);
}

TEST_CASE("boxes that begin before the tensor are clipped at its first element") {
  const Layout tensor = L("(-4,0) o (1024,512):(1@1,1@0)");
  BoxPlan plan;
  REQUIRE(partition_tma(tensor, L("(128,64):(64,1)"), T("(128,64)"), T("(0,0)"), 1, 0, &plan).ok());
  REQUIRE(str(plan.coords).find("(-4,0)") == 0);
  std::string svg;
  REQUIRE(draw_boxes(tensor, plan.box, plan.coords, &svg).ok());
  check_svg(svg);
  CHECK(count(svg, ">0</text>") > 2);  // cells of box 0, beside the two labels
  const int64_t box[] = {2, 1};
  // The picture has one row, -1: it belongs to box 1. Box 0 covers rows -3 and -2.
  REQUIRE(draw_boxes(L("(4,1):(1@0,1@1)"), box, L("(-3,0) o 2:2@0"), &svg).ok());
  check_svg(svg);
  CHECK(count(svg, "fill=\"" + pick_color(1, 2) + "\"") == 1);
  CHECK(count(svg, "fill=\"" + pick_color(0, 2) + "\"") == 0);
}

TEST_CASE("extents and coordinates of boxes may be as large as 64 bits hold") {
  const int64_t boxes[][2] = {{1, 1}, {INT64_MAX, INT64_MAX}, {3, INT64_MAX}, {INT64_MAX, 64}};
  for (const char* tensor : {"(9223372036854775807,1):(1@0,1@1)", "(1,9223372036854775807):(1,1)",
                             "(4611686018427387904,1):(1@0,1@1)", "9223372036854775807:1@0"})
    for (const char* coords :
         {"(0,0) o 1:1@0", "(9223372036854775806,9223372036854775806) o 1:1@0",
          "(-9223372036854775806,-9223372036854775806) o 1:1@0", "2:9223372036854775806@0",
          "(-4611686018427387902,0) o (2,2):(4611686018427387903@0,1@1)"})
      for (const auto& box : boxes) {
        CAPTURE(tensor);
        CAPTURE(coords);
        std::string svg;
        INFO(last_failure().message);
        REQUIRE(draw_boxes(L(tensor), box, L(coords), &svg).ok());
        check_svg(svg);
      }
}

TEST_CASE("of many boxes the first are drawn, and the picture says so") {
  const int64_t box[] = {1, 1};
  std::string svg;
  REQUIRE(draw_boxes(L("(128,128):(1@0,1@1)"), box, L("(128,128):(1@0,1@1)"), &svg).ok());
  check_svg(svg);
  CHECK(count(svg, "the first 4096 of 16384 boxes") == 1);
  // Each box covers the whole picture: only the last one is visible.
  const int64_t whole[] = {128, 128};
  REQUIRE(draw_boxes(L("(128,128):(1@0,1@1)"), whole, L("(0,0) o 4096:0"), &svg).ok());
}

TEST_CASE("a thread-value picture is right or is refused, and soon") {
  std::string svg;
  const auto start = std::chrono::steady_clock::now();
  CHECK(draw_tv(L("(((3,2),4,(4)),4294967296):(((55,-4052555153018976267),19,(39)),39)"), T("64"),
                &svg)
            .code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.argument) == "tv");
  CHECK(said("412316860416"));
  CHECK(said("1048576"));
  // The time does not grow with the tile.
  CHECK(draw_tv(L("(((3,2),4,(4)),4294967296):(((55,-4052555153018976267),19,(39)),39)"),
                T("(128,128)"), &svg)
            .code() == Code::ERROR_UNSUPPORTED);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(took.count() < 10);  // seconds; leaves room for sanitizers and a busy machine
  // A few pairs are all examined, however their modes overlap. No pair holds elements 6 and 7 of 8.
  REQUIRE(draw_tv(L("(2,3):(3,1)"), T("8"), &svg).ok());
  CHECK(count(svg, "#eeeeee") == 2);
  CHECK(count(svg, ">T0</text>") == 3);
}

TEST_CASE("no valid layout fails, however large or deep") {
  Random random(12);
  for (int i = 0; i < 300; ++i) {
    std::string svg;
    const Layout a = random.layout(256, true);
    CAPTURE(str(a));
    REQUIRE(draw(a, static_cast<Paint>(i % 3), 16, &svg).ok());
    REQUIRE(svg.ends_with("</svg>\n"));
  }
  for (const char* text :
       {"():()", "1:0", "(1099511627776,1048576):(1048576,1)", "(4,4):(-1,-4)",
        "(0,(0,0)) o (4,(2,3)):(1@0,(1@0@1,1@1@1))", "Sw<3,4,3> o 128 o (300,300):(300,1)",
        "(9223372036854775807):(1)", "(2,2):(4611686018427387903,0)", "8:1@0+2@1"})
    drawn(text, Paint::index);
  CHECK(count(drawn("(300,10):(10,1)", Paint::none), "128 of 300 rows") == 1);
  std::string svg;
  CHECK(draw(L("4:1"), Paint::banks, 0, &svg).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(draw(L("4:1"), static_cast<Paint>(7), 8, &svg).code() == Code::ERROR_INVALID_ARGUMENT);
}
