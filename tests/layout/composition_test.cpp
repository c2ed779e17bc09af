// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra.hpp"
#include "layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string o(const char* a, const char* b) {
  return answer([&](Layout* out) { return composition(L(a), L(b), out); });
}

}  // namespace

TEST_CASE("composition where modes divide") {
  CHECK(o("(6,2):(8,2)", "(4,3):(3,1)") == "((2,2),3):((24,2),8)");
  CHECK(o("20:2", "(5,4):(4,1)") == "(5,4):(8,2)");
  CHECK(o("(10,2):(16,4)", "(5,4):(1,5)") == "(5,(2,2)):(16,(80,4))");
  CHECK(o("(4,3,1):(3,1,0)", "24") == "(4,3,2):(3,1,0)");
  CHECK(o("(4,3):(3,1)", "24") == "(4,6):(3,1)");
  CHECK(o("((4,4),2):((1,8),4)", "1:96") == "1:0");
}

TEST_CASE("composition where CuTe answers wrongly") {
  CHECK(o("(8,8):(8,1)", "6:3") == "(3,2):(24,9)");
  CHECK(o("(4,8):(8,1)", "(2,1,2,8):(1,16,1,1)") == "ERROR_NOT_A_LAYOUT");
}

TEST_CASE("carries that cancel still make a layout") {
  CHECK(o("(4,2,2):(1,2,6)", "4:3") == "(2,2):(3,4)");
  CHECK(o("(2,2):(-4,-2)", "4:3") == "ERROR_NOT_A_LAYOUT");  // beyond the end
}

TEST_CASE("negative strides count in both directions") {
  CHECK(o("(3,16,4):(4,24,384)", "(2,3):(-96,1)") == "(2,3):(-768,4)");
  CHECK(o("16:12", "4:-1") == "4:-12");
  CHECK(o("(3,8,3,((3,3,2))):(432,54,18,((6,2,1)))", "10:-1") == "ERROR_NOT_A_LAYOUT");
}

TEST_CASE("offsets and swizzles stay in front") {
  CHECK(o("Sw<3,3,3> o 0 o (8,64):(64,1)", "(64,8):(8,1)") == "Sw<3,3,3> o 0 o (64,8):(1,64)");
  CHECK(o("(4,4):(1,8)", "2 o (2,4):(1,4)") == "2 o (2,4):(1,8)");
  CHECK(o("(4,4):(1,8)", "3 o (2,3):(1,4)") == "3 o (2,3):(5,8)");
  CHECK(o("(4,4):(1,8)", "3 o (4,2):(1,4)") == "ERROR_NOT_A_LAYOUT");
  CHECK(o("64", "Sw<3,3,3> o 0 o (8,8):(8,1)") == "Sw<3,3,3> o 0 o (8,8):(8,1)");
}

TEST_CASE("basis strides on either side") {
  CHECK(o("(2,16):(16,1)", "(1):(2@0)") == "(1):(0)");
  CHECK(o("(8,8):(8,1)", "(4,2):(1@1,2@0)") == "(4,2):(1,16)");
  CHECK(o("(8,8):(1@0,1@1)", "(4,16):(16,1)") == "(4,(8,2)):(2@1,(1@0,1@1))");
  CHECK(o("(8,8):(1@0,1@1)", "8:9") == "8:1@0+1@1");
  CHECK(o("(8,8):(8,1)", "8:1@0+1@1") == "8:9");
  CHECK(o("(8,8):(8,1)", "8:1@2") == "ERROR_INVALID_ARGUMENT");
}
