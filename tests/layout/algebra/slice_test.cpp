// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "layout/algebra/algebra.hpp"
#include "tests/layout/layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string tile(const char* layout, std::vector<int64_t> extents, std::vector<int64_t> coord) {
  int64_t offset = 0;
  std::string text = answer([&](Layout* out) {
    return local_tile(L(layout), static_cast<int>(extents.size()), extents.data(), coord.data(),
                      out, &offset);
  });
  return offset == 0 ? text : std::to_string(offset) + " + " + text;
}

}  // namespace

TEST_CASE("tiles of plain layouts come with an offset") {
  CHECK(tile("(6,8):(1,6)", {2, 4}, {1, 1}) == "26 + (2,4):(1,6)");
  CHECK(tile("(4,4,2):(1,4,16)", {4, 2}, {0, 1}) == "8 + (4,2,2):(1,4,16)");
  CHECK(tile("(10):(3)", {4}, {2}) == "24 + (4):(3)");  // the last tile reaches past the end
  CHECK(tile("((4,3),5):((1,20),4)", {2, 5}, {3, 0}) == "22 + (2,5):(1,4)");
  CHECK(tile("((4,3),5):((1,20),4)", {6, 5}, {0, 0}) == "ERROR_NOT_A_LAYOUT");
  CHECK(tile("((4,3),5):((1,20),4)", {8, 1}, {1, 2}) == "48 + ((4,2),1):((1,20),0)");
}

TEST_CASE("tiles of coordinate tensors and of swizzled layouts carry their origin") {
  CHECK(tile("(0,0) o (1024,512):(1@1,1@0)", {16, 16}, {2, 3}) == "(48,32) o (16,16):(1@1,1@0)");
  CHECK(tile("(32,32):(1@0,1@1)", {8, 8}, {1, 2}) == "(8,16) o (8,8):(1@0,1@1)");
  CHECK(tile("Sw<3,3,3> o 0 o (64,64):(64,1)", {8, 16}, {1, 2}) ==
        "Sw<3,3,3> o 544 o (8,16):(64,1)");
}

TEST_CASE("tiles that do not exist are refused") {
  CHECK(tile("(6,8):(1,6)", {2, 4}, {3, 0}) == "ERROR_INVALID_ARGUMENT");
  CHECK(said("there are tiles 0 to 2"));
  CHECK(tile("(6,8):(1,6)", {0, 4}, {0, 0}) == "ERROR_INVALID_ARGUMENT");
  CHECK(tile("(6,8):(1,6)", {2, 4, 1}, {0, 0, 0}) == "ERROR_INVALID_ARGUMENT");
}
