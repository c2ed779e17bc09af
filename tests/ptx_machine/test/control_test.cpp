// SPDX-License-Identifier: Apache-2.0
// Divergence and reconvergence, calls, tables of labels.
#include "tests/ptx_machine/instructions/control.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("control: lanes diverge and reconverge") {
  Lab lab;
  lab.fill([](size_t i) { return i; });
  // Lanes leave a loop after different numbers of turns, then all vote.
  const std::string body =
      "mov.u32 %r3, 0;\nLOOP:\nadd.s32 %r3, %r3, 2;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra LOOP;\n"
      "setp.gt.u32 %p2, %r1, 9;\n@%p2 bra MORE;\nadd.s32 %r3, %r3, 1000;\nbra.uni "
      "JOIN;\nMORE:\nadd.s32 %r3, %r3, 2000;\n"
      "JOIN:\nvote.sync.ballot.b32 %r4, %p2, -1;\nst.global.v2.u32 [%d2], {%r3, %r4};";
  for (const uint64_t seed : {0, 1, 2, 3}) {
    lab.options.seed = seed;
    lab.run(body);
    for (uint64_t i = 0; i < 32; ++i) {
      const uint64_t loops = i <= 2 ? 2 : (i + 1) / 2 * 2;
      CHECK(lab.out[i] == (loops + (i > 9 ? 2000u : 1000u) + (uint64_t{0xfffffc00} << 32)));
    }
  }
}

TEST_CASE("control: a lane that spins on another lane of its warp does not starve it") {
  Lab lab;
  // Lane 0 spins until lane 1 has stored. Lane 1's code is after the loop, so it must not starve.
  lab.run(
      "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra OTHERS;\nTURN:\nld.relaxed.gpu.global.u32 %r3, [%d0+8];\n"
      "setp.eq.u32 %p2, %r3, 0;\n@%p2 bra TURN;\nst.global.u32 [%d0], %r3;\nbra.uni OUT;\nOTHERS:\n"
      "mov.u32 %r3, 7;\nst.global.u32 [%d2], %r3;\nOUT:");
  CHECK(lab.out[0] == 7);
}

TEST_CASE("control: tables of labels") {
  Lab lab;
  lab.fill([](size_t i) { return i % 3; });
  lab.run(
      "{\nmov.u32 %r3, 5;\nTABLE: .branchtargets A, B, C;\nbrx.idx %r1, TABLE;\nA:\nmov.u32 %r3, "
      "10;\nbra END;\n"
      "B:\nmov.u32 %r3, 20;\nbra END;\nC:\nmov.u32 %r3, 30;\nEND:\n}\nst.global.u32 [%d2], %r3;");
  for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == 10 * (i % 3 + 1));
  CHECK(says(lab.fault("{\nTABLE: .branchtargets A;\nmov.u32 %r3, 1;\nbrx.idx %r3, TABLE;\nA:\n}"),
             "outside the table"));
}

TEST_CASE("control: functions with parameters and results") {
  Lab lab;
  lab.fill([](size_t i) { return i | (i + 1) << 32; });
  std::string text = kernel_text(
      "setp.lt.u32 %p1, %r0, 20;\n@%p1 bra FIRST;\nmov.u32 %r3, 1;\nbra.uni "
      "OUT;\nFIRST:\n{\n.param .b32 result;\n.param .align 8 .b8 pair[8];\n"
      "st.param.v2.b32 [pair+0], {%r1, %r2};\ncall.uni (result), add_pair, (pair);\nld.param.b32 "
      "%r3, [result+0];\n}\n"
      "OUT:\nst.global.u32 [%d2], %r3;");
  const std::string function =
      ".func (.param .b32 out) add_pair(.param .align 8 .b8 of[8])\n{\n.reg .b32 %r<4>;\n"
      "ld.param.v2.b32 {%r1, %r2}, [of];\nmad.lo.s32 %r3, %r1, %r2, 1;\nst.param.b32 [out+0], "
      "%r3;\nret;\n}\n";
  text.insert(text.find(".visible"), function);
  lab.run_text(text);
  for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == (i < 20 ? i * (i + 1) + 1 : 1));
}

TEST_CASE("control: traps and programs without an end") {
  Lab lab;
  CHECK(says(lab.fault("trap;"), "trap"));
  lab.options.most_instructions = 100000;
  CHECK(says(lab.fault("LOOP:\nbra LOOP;"), "not finished after"));
}
