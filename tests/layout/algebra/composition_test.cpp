// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/algebra.hpp"
#include "tests/layout/layout_test.hpp"

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
  CHECK(o("(2,2):(-4,-2)", "4:3") == "ERROR_NOT_A_LAYOUT");  // reaches beyond A's end
}

TEST_CASE("negative strides count in both directions") {
  CHECK(o("(3,16,4):(4,24,384)", "(2,3):(-96,1)") == "(2,3):(-768,4)");
  CHECK(o("16:12", "4:-1") == "4:-12");
  CHECK(o("(3,8,3,((3,3,2))):(432,54,18,((6,2,1)))", "10:-1") == "ERROR_NOT_A_LAYOUT");
}

TEST_CASE("beyond its end a's last mode counts on, where b passes through the others evenly") {
  CHECK(o("((6,16),(2,2)):((1,12),(6,192))", "2:-1") == "2:-1");
  CHECK(o("(((10,9)),6,2):(((1,60)),10,540)", "4:-1") == "4:-1");
  CHECK(o("((5,(4),2)):((0,(0),4))", "2:-648") == "2:-132");
  CHECK(o("(10,(16,(5,2))):(1,(20,(0,10)))", "(4,4):(480,3200)") == "((2,2),4):((0,10),40)");
  CHECK(o("(8,32):(0,128)", "(24,6,1,3):(16,3,1,24)") == "(24,(3,2),1,3):(256,(0,128),0,384)");
}

TEST_CASE("right inverses take the longest modes that continue one another") {
  const auto inverse = [](const char* a) {
    return answer([&](Layout* out) { return right_inverse(L(a), out); });
  };
  CHECK(inverse("(2,4,6):(4,1,4)") == "24:2");
  CHECK(inverse("((1,2),32,4):((32,32),1,32)") == "128:2");
  CHECK(inverse("(((3,2),(10,1)),2):(((2,1),(2,8)),128)") == "20:3");
  CHECK(inverse("(4,8):(8,1)") == "(8,4):(4,1)");
}

TEST_CASE("the tiler of a product divides the modes of the complement evenly") {
  const auto refused = [](auto product, const char* a, const char* b) {
    return answer([&](Layout* out) { return product(L(a), L(b), out); }) == "ERROR_NOT_A_LAYOUT" &&
           said("of the tiler does not step evenly through the modes of the layout's complement");
  };
  CHECK(refused(blocked_product, "4:3", "(32,2):(0,32)"));
  CHECK(refused(raked_product, "(1,(2)):(2,(2))", "4:3"));
  CHECK(refused(raked_product, "2:2", "((3),(2,1,2)):((20),(2,3,1))"));
  Tiler tiler;
  REQUIRE(make_tiler(L("(4,2):(1,8)"), &tiler).ok());
  const auto flat = [&](const Layout& a, const Layout&, Layout* out) {
    return flat_product(a, tiler, out);
  };
  CHECK(refused(flat, "(2,1):(6,3)", "(4,2):(1,8)"));
  CHECK(answer([](Layout* out) { return raked_product(L("(2,2):(1,4)"), L("2:1"), out); }) ==
        "((2,2),(1,2)):((2,1),(0,4))");
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
