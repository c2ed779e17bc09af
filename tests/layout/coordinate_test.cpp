// SPDX-License-Identifier: Apache-2.0
#include "layout_test.hpp"

using namespace tw;
using namespace tw::test;

namespace {

int64_t at(const char* layout, const char* coord) {
  int64_t index = 0;
  INFO(layout, " at ", coord, ": ", last_failure().message);
  REQUIRE(crd2idx(L(layout), T(coord), &index).ok());
  return index;
}

}  // namespace

TEST_CASE("size, cosize, rank, depth") {
  const Layout a = L("((2,3),4):((1,8),2)");
  int64_t number = 0;
  CHECK(size(a) == 24);
  CHECK(a.rank() == 2);
  CHECK(a.depth() == 2);
  CHECK(a.leaves() == 3);
  CHECK(cosize(a, &number).ok());
  CHECK(number == 1 + 16 + 6 + 1);
  CHECK(L("5:3").rank() == 1);
  CHECK(L("5:3").depth() == 0);
  CHECK(L("((5)):((3))").depth() == 2);
  CHECK(cosize(L("4:-2"), &number).ok());
  CHECK(number == 7);
  CHECK(cosize(L("4:1@0"), &number).code() == Code::ERROR_UNSUPPORTED);
}

TEST_CASE("linear, natural, flat and mixed coordinates agree") {
  CHECK(at("((2,3),4):((1,8),2)", "13") == 1 + 2 * 2);
  CHECK(at("((2,3),4):((1,8),2)", "(1,2)") == 1 + 4);
  CHECK(at("((2,3),4):((1,8),2)", "((1,0),2)") == 1 + 4);
  CHECK(at("(7,(4,5),2,3,1):(16,(128,0),3,8,16)", "(6,11,1,0,0)") == 483);
  CHECK(at("Sw<0,1,1> o 0 o (4,4):(4,1)", "14") == 11);
  CHECK(at("Sw<3,3,3> o 0 o (8,64):(64,1)", "(3,9)") == ((9 / 8) ^ 3) * 8 + 1 + 3 * 64);
  CHECK(at("5 o (4,4):(1,4)", "(1,1)") == 10);
  const int64_t flat[] = {1, 0, 2}, natural[] = {1, 2}, linear[] = {13};
  int64_t index = 0;
  const Layout a = L("((2,3),4):((1,8),2)");
  CHECK(crd2idx(a, flat, 3, &index).ok());
  CHECK(index == 5);
  CHECK(crd2idx(a, natural, 2, &index).ok());
  CHECK(index == 5);
  CHECK(crd2idx(a, linear, 1, &index).ok());
  CHECK(index == 5);
  CHECK(crd2idx(a, flat, 4, &index).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(said("3 (one per leaf)"));
}

TEST_CASE("past the end the last mode counts on") {
  CHECK(at("(9,2,(16,2,2),2):(256,128,(8,4,2),1)", "4215") == 853);
  CHECK(at("(4,3):(1,8)", "12") == 24);
  int64_t index = 1;
  CHECK(crd2idx(L("(4,2):(1,1)"), T("9223372036854775807"), &index).ok());
  CHECK(crd2idx(L("(4,2):(0,4611686018427387903)"), T("100"), &index).code() ==
        Code::ERROR_OVERFLOW);
  CHECK(index == 0);
}

TEST_CASE("coordinates that do not fit are refused") {
  int64_t index = 1;
  const Layout a = L("((2,3),4):((1,8),2)");
  for (const char* coord : {"-1", "(6,0)", "(0,4)", "(0,-1)", "((2,0),0)", "((0,0,0),0)", "(0,0,0)",
                            "(0,(0,0))", "(_,0)"}) {
    CAPTURE(coord);
    CHECK(crd2idx(a, T(coord), &index).code() == Code::ERROR_INVALID_ARGUMENT);
  }
  CHECK(crd2idx(L("4:1@0"), T("1"), &index).code() == Code::ERROR_UNSUPPORTED);
}

TEST_CASE("coordinate tensors give coordinates") {
  IntTuple out;
  const Layout a = L("(0,0) o (1024,512):(1@1,1@0)");
  CHECK(crd2crd(a, T("(2,3)"), &out).ok());
  CHECK(str(out) == "(3,2)");
  CHECK(crd2crd(L("(2,(5,2),(2)):(1@1,(1@0@0,1@1@0),(1@0@2))"), T("39"), &out).ok());
  CHECK(str(out) == "((4,1),1,(1))");
  CHECK(crd2crd(L("8:1@0+2@2"), T("3"), &out).ok());
  CHECK(str(out) == "(3,0,6)");
}

TEST_CASE("linear to flat") {
  IntTuple out;
  CHECK(idx2crd(T("(3,(2,3))"), 16, &out).ok());
  CHECK(str(out) == "(1,(1,2))");
  CHECK(idx2crd(T("(3,(2,3))"), 18, &out).code() == Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("find gives the smallest coordinate of every index, and of no other") {
  for (const char* text : {"((2,3),4):((1,8),2)", "(4,4):(1,2)", "(4,4):(-1,4)", "(3,5):(0,2)",
                           "Sw<2,0,2> o 3 o (4,4):(1,4)", "(8,8):(9,1)", "(4,3,2):(6,-10,15)",
                           "7 o (4,3):(3,0)", "(16,8,4):(41,5,1)", "1:5", "():()"}) {
    const Layout a = L(text);
    CAPTURE(text);
    for (int64_t index = -60; index < 1000; ++index) {
      int64_t expected = -1, linear = 0;
      for (int64_t i = size(a) - 1; i >= 0; --i) {
        int64_t value = 0;
        REQUIRE(crd2idx(a, &i, 1, &value).ok());
        if (value == index) expected = i;
      }
      const Status status = find(a, index, &linear);
      REQUIRE(status.ok() == (expected >= 0));
      if (expected >= 0) REQUIRE(linear == expected);
      if (expected < 0) REQUIRE(status.code() == Code::ERROR_NOT_FOUND);
    }
  }
  int64_t linear = 0;
  CHECK(find(L("(1073741824,1073741824):(1073741824,1)"), 5, &linear).ok());
  CHECK(linear == 5 * int64_t{1073741824});
}
