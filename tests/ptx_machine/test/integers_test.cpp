// SPDX-License-Identifier: Apache-2.0
// Integer and bit arithmetic, compared with C++ references of PTX's rules.
#include "tests/ptx_machine/instructions/integers.hpp"

#include <functional>
#include <random>

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

/// A random 64-bit number whose halves are often at the ends of their ranges.
uint64_t draw(std::mt19937_64& random) {
  constexpr uint32_t kEnds[] = {0,          1,          2,          31,         32, 33,
                                0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 63, 64};
  uint64_t out = random();
  if (random() % 2) out = (out & 0xffffffff00000000) | kEnds[random() % std::size(kEnds)];
  if (random() % 2) out = (out & 0xffffffff) | uint64_t{kEnds[random() % std::size(kEnds)]} << 32;
  return out;
}

struct Case32 {
  const char* instruction;  // computes %r3 from %r1 and %r2
  std::function<uint32_t(uint32_t, uint32_t)> wanted;
};

int32_t s(uint32_t value) {
  return static_cast<int32_t>(value);
}
uint32_t u(int64_t value) {
  return static_cast<uint32_t>(value);
}

const Case32 kCases32[] = {
    {"add.s32 %r3, %r1, %r2;", [](auto a, auto b) { return a + b; }},
    {"sub.s32 %r3, %r1, %r2;", [](auto a, auto b) { return a - b; }},
    {"mul.lo.s32 %r3, %r1, %r2;", [](auto a, auto b) { return a * b; }},
    {"mul.hi.s32 %r3, %r1, %r2;", [](auto a, auto b) { return u(int64_t{s(a)} * s(b) >> 32); }},
    {"mul.hi.u32 %r3, %r1, %r2;",
     [](auto a, auto b) { return u(static_cast<int64_t>(uint64_t{a} * b >> 32)); }},
    {"mad.lo.s32 %r3, %r1, %r2, 7;", [](auto a, auto b) { return a * b + 7; }},
    {"div.u32 %r3, %r1, 7;", [](auto a, auto) { return a / 7; }},
    {"div.s32 %r3, %r1, -7;", [](auto a, auto) { return u(s(a) / -7); }},
    {"rem.u32 %r3, %r1, 10;", [](auto a, auto) { return a % 10; }},
    {"rem.s32 %r3, %r1, 10;", [](auto a, auto) { return u(s(a) % 10); }},
    {"min.s32 %r3, %r1, %r2;", [](auto a, auto b) { return s(a) < s(b) ? a : b; }},
    {"max.u32 %r3, %r1, %r2;", [](auto a, auto b) { return a > b ? a : b; }},
    {"neg.s32 %r3, %r1;", [](auto a, auto) { return 0 - a; }},
    {"abs.s32 %r3, %r1;", [](auto a, auto) { return s(a) < 0 ? 0 - a : a; }},
    {"and.b32 %r3, %r1, %r2;", [](auto a, auto b) { return a & b; }},
    {"xor.b32 %r3, %r1, %r2;", [](auto a, auto b) { return a ^ b; }},
    {"not.b32 %r3, %r1;", [](auto a, auto) { return ~a; }},
    {"shl.b32 %r3, %r1, %r2;", [](auto a, auto b) { return b > 31 ? 0 : a << b; }},
    {"shr.u32 %r3, %r1, %r2;", [](auto a, auto b) { return b > 31 ? 0 : a >> b; }},
    {"shr.s32 %r3, %r1, %r2;", [](auto a, auto b) { return u(s(a) >> (b > 31 ? 31 : b)); }},
    {"shf.l.wrap.b32 %r3, %r1, %r2, 8;", [](auto a, auto b) { return b << 8 | a >> 24; }},
    {"shf.r.wrap.b32 %r3, %r1, %r2, 40;", [](auto a, auto b) { return a >> 8 | b << 24; }},
    {"shf.r.clamp.b32 %r3, %r1, %r2, 40;", [](auto, auto b) { return b; }},
    {"bfe.u32 %r3, %r1, 4, 8;", [](auto a, auto) { return a >> 4 & 0xff; }},
    {"bfe.s32 %r3, %r1, 4, 8;", [](auto a, auto) { return u(static_cast<int8_t>(a >> 4)); }},
    {"bfe.s32 %r3, %r1, 28, 8;", [](auto a, auto) { return u(s(a) >> 28); }},
    {"bfi.b32 %r3, %r1, %r2, 8, 4;", [](auto a, auto b) { return (b & ~0xf00u) | (a & 0xf) << 8; }},
    {"bfind.u32 %r3, %r1;", [](auto a, auto) { return a == 0 ? ~0u : 31 - u(__builtin_clz(a)); }},
    {"bfind.shiftamt.u32 %r3, %r1;",
     [](auto a, auto) { return a == 0 ? ~0u : u(__builtin_clz(a)); }},
    {"popc.b32 %r3, %r1;", [](auto a, auto) { return u(__builtin_popcount(a)); }},
    {"clz.b32 %r3, %r1;", [](auto a, auto) { return a == 0 ? 32 : u(__builtin_clz(a)); }},
    {"prmt.b32 %r3, %r1, %r2, 0x5410;", [](auto a, auto b) { return (a & 0xffff) | b << 16; }},
    {"prmt.b32 %r3, %r1, %r2, 0xF;",
     [](auto a, auto b) { return (a & 0xff) * 0x01010100 | (s(b) < 0 ? 0xff : 0); }},
    {"lop3.b32 %r3, %r1, %r2, 15, 0xE8;",
     [](auto a, auto b) { return (a & b) | (a & 15) | (b & 15); }},
    {"mul.wide.s32 %d5, %r1, %r2;\nshr.u64 %d5, %d5, 32;\ncvt.u32.u64 %r3, %d5;",
     [](auto a, auto b) { return u(int64_t{s(a)} * s(b) >> 32); }},
    {"mad.wide.u32 %d5, %r1, %r2, %d4;\ncvt.u32.u64 %r3, %d5;",
     [](auto a, auto b) { return a * b + a; }},
    {"brev.b32 %r3, %r1;\nbrev.b32 %r3, %r3;", [](auto a, auto) { return a; }},
};

}  // namespace

TEST_CASE("integers: 32 bits") {
  std::mt19937_64 random(1);
  Lab lab;
  lab.shape.block[0] = 256;
  for (const Case32& c : kCases32) {
    INFO(std::string(c.instruction));
    lab.fill([&](size_t) { return draw(random); });
    lab.run(std::string(c.instruction) + "\nst.global.u32 [%d2], %r3;");
    size_t wrong = 0;
    for (size_t i = 0; i < lab.in.size(); ++i) {
      const uint32_t a = static_cast<uint32_t>(lab.in[i]),
                     b = static_cast<uint32_t>(lab.in[i] >> 32);
      wrong += static_cast<uint32_t>(lab.out[i]) != c.wanted(a, b);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("integers: 16 and 64 bits") {
  std::mt19937_64 random(2);
  Lab lab;
  lab.shape.block[0] = 64;
  lab.fill([&](size_t) { return draw(random); });
  lab.run("mul.lo.s64 %d5, %d4, %d4;\nadd.s64 %d5, %d5, -3;\nst.global.u64 [%d2], %d5;");
  for (size_t i = 0; i < lab.in.size(); ++i) CHECK(lab.out[i] == lab.in[i] * lab.in[i] - 3);
  lab.run("shl.b64 %d5, %d4, %r1;\nst.global.u64 [%d2], %d5;");
  for (size_t i = 0; i < lab.in.size(); ++i) {
    const uint32_t by = static_cast<uint32_t>(lab.in[i]);
    CHECK(lab.out[i] == (by > 63 ? 0 : lab.in[i] << by));
  }
  lab.run(
      "cvt.u16.u32 %h1, %r1;\nmul.lo.s16 %h2, %h1, %h1;\nsub.s16 %h2, %h2, 1;\ncvt.u32.u16 %r3, "
      "%h2;\n"
      "st.global.u32 [%d2], %r3;");
  for (size_t i = 0; i < lab.in.size(); ++i) {
    const uint32_t a = static_cast<uint16_t>(lab.in[i]);
    CHECK(lab.out[i] == static_cast<uint16_t>(a * a - 1));
  }
}

TEST_CASE("integers: predicates guard lanes") {
  Lab lab;
  lab.fill([](size_t i) { return i; });
  lab.run(
      "setp.lt.u32 %p1, %r1, 7;\nsetp.eq.and.u32 %p2, %r1, 3, %p1;\nsetp.gt.or.u32 %p3, %r1, 30, "
      "!%p1;\n"
      "xor.pred %p4, %p1, %p2;\nmov.u32 %r3, 0;\n@%p1 add.s32 %r3, %r3, 1;\n@!%p2 add.s32 %r3, "
      "%r3, 2;\n"
      "@%p3 add.s32 %r3, %r3, 4;\n@%p4 add.s32 %r3, %r3, 8;\nselp.b32 %r4, 16, 0, %p2;\n"
      "add.s32 %r3, %r3, %r4;\nst.global.u32 [%d2], %r3;");
  for (uint64_t i = 0; i < 32; ++i) {
    const bool p1 = i < 7, p2 = i == 3, p3 = !p1;
    CHECK(lab.out[i] == (p1 ? 1u : 0u) + (p2 ? 0u : 2u) + (p3 ? 4u : 0u) + (p1 != p2 ? 8u : 0u) +
                            (p2 ? 16u : 0u));
  }
}
