// SPDX-License-Identifier: Apache-2.0
#include "layout_test.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("what is formatted parses back to itself") {
  for (const char* text :
       {"4:1", "(4):(1)", "((4)):((1))", "((2,3),4):((1,8),2)", "(2,(3,(4,5)),6):(1,(2,(6,-24)),0)",
        "Sw<3,4,3> o 0 o (128,64):(64,1)", "Sw<2,0,-3> o 28 o (2,32):(1,2)", "28 o (4,4):(1,4)",
        "(0,0) o (1024,512):(1@1,1@0)", "(48,32) o (16,16):(1@1,1@0)", "(4,4):(1@0+2@1,-1@1)",
        "(0,(-3,0)) o (4,4):(1@0+2@1@1,-1@0@1)", "():()"}) {
    Layout layout;
    CAPTURE(text);
    REQUIRE(parse(text, &layout).ok());
    CHECK(str(layout) == text);
    CHECK(equal(L(str(layout)), layout));
  }
}

TEST_CASE("what else is read") {
  CHECK(str(L(" ( ( 2 , 3 ) , 4 ) ")) == "((2,3),4):((1,2),6)");
  CHECK(str(L("(_4,_8):(_1,4)")) == "(4,8):(1,4)");
  CHECK(str(L("S<3,4,3> o (8,8):(8,1)")) == "Sw<3,4,3> o 0 o (8,8):(8,1)");
  CHECK(str(L("0 o 4:1")) == "4:1");
  CHECK(str(L("4:2@1+0@0+-2@1+3@0")) == "4:3@0");
}

TEST_CASE("an error says where and what was expected") {
  struct {
    const char* text;
    Code code;
    const char* message;
  } const cases[] = {
      {"", Code::ERROR_PARSE,
       "at character 1 of the text \"\": expected an integer, but the text ends"},
      {"(4,8:1", Code::ERROR_PARSE, "at character 5 of the text \"(4,8:1\": expected ',' or ')'"},
      {"(4,8):(1,2", Code::ERROR_PARSE, "at character 11"},
      {"(4,8):1", Code::ERROR_PARSE, "at character 7"},
      {"(4,8):(1,(2))", Code::ERROR_PARSE, "expected one stride"},
      {"(4,8):(1,2,3)", Code::ERROR_PARSE, "as the shape ends here"},
      {"(4,8):(1)", Code::ERROR_PARSE, "as the shape has more"},
      {"4:1 x", Code::ERROR_PARSE, "expected the end of the text"},
      {"Sw<3,4> o 4:1", Code::ERROR_PARSE, "expected ','"},
      {"Sw<3,4,3> 4:1", Code::ERROR_PARSE, "expected 'o'"},
      {"Sw<3,4,2> o 0 o 4:1", Code::ERROR_INVALID_ARGUMENT, "a shift below 3"},
      {"Sw<3,4,3> o 0 o 4:1@0", Code::ERROR_INVALID_ARGUMENT, "a swizzle works on integers"},
      {"(4,0):(1,1)", Code::ERROR_PARSE, "extents are at least 1"},
      {"(4,-3)", Code::ERROR_PARSE, "extent -3"},
      {"4:99999999999999999999", Code::ERROR_OVERFLOW, "exceeds 64 bits"},
      {"(4294967296,4294967296):(0,0)", Code::ERROR_OVERFLOW, "the size"},
      {"(4,4):(9223372036854775807,1)", Code::ERROR_OVERFLOW, "an index"},
      {"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", Code::ERROR_CAPACITY,
       "more than 32 leaves"},
      {"(((((((((((((((((1)))))))))))))))))", Code::ERROR_CAPACITY, "16 tuples"},
      {"4:1@0@0@0@0@0@0@0@0@0@0@0", Code::ERROR_CAPACITY, "more than 10 tuples"},
      {"(((((((((((0))))))))))) o 4:1@0", Code::ERROR_CAPACITY,
       "at character 1: the origin has more than 10 tuples"},
      {"4:-9223372036854775808", Code::ERROR_PARSE, "an integer above -2^63"},
      {"4:1@62", Code::ERROR_PARSE, "an index from 0 to 61, but there is '6'"},
      {"(4,4):(1,1@0)", Code::ERROR_INVALID_ARGUMENT, "the only integer allowed is 0"},
      {"(4,4):(1@0,1@0@0)", Code::ERROR_INVALID_ARGUMENT, "1@0 beside"},
      {"(0,0) o 4:1@2", Code::ERROR_INVALID_ARGUMENT, "the origin lacks"},
  };
  for (const auto& entry : cases) {
    Layout layout;
    CAPTURE(entry.text);
    CHECK(parse(entry.text, &layout).code() == entry.code);
    INFO(last_failure().message);
    CHECK(said(entry.message));
  }
}

TEST_CASE("the deepest and the longest that is allowed") {
  CHECK(L("((((((((((((((((1))))))))))))))))").depth() == 16);
  CHECK(L("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)").leaves() == 32);
  CHECK(str(L("4:1@0@1@0@1@2@1@2@3@4@5")) == "4:1@0@1@0@1@2@1@2@3@4@5");
}

TEST_CASE("a coordinate tensor") {
  const int64_t extents[] = {1024, 512};
  CHECK(answer([&](Layout* out) { return make_coordinate_tensor(2, extents, out); }) ==
        "(0,0) o (1024,512):(1@1,1@0)");
}
