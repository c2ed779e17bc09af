// SPDX-License-Identifier: Apache-2.0
// Warp-level instructions: shuffles, votes, matches, reductions.
#include "tests/ptx_machine/instructions/lanes.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("lanes: shuffles stay in their segments") {
  Lab lab;
  lab.fill([](size_t i) { return 100 + i; });
  const auto shuffled = [&](const std::string& mode, uint32_t by, uint32_t c) {
    lab.run("shfl.sync." + mode + ".b32 %r3|%p1, %r1, " + std::to_string(by) + ", " +
            std::to_string(c) +
            ", -1;\nselp.u32 %r4, 1, 0, %p1;\nst.global.v2.u32 [%d2], {%r3, %r4};");
    return lab.out;
  };
  const auto cell = [](uint64_t from, bool inside) {
    return 100 + from + (inside ? uint64_t{1} << 32 : 0);
  };
  CHECK(shuffled("idx", 5, 31)[9] == cell(5, true));
  CHECK(shuffled("idx", 5, 0x181f)[9] == cell(13, true));  // segments of 8 lanes
  CHECK(shuffled("up", 3, 0)[9] == cell(6, true));
  CHECK(shuffled("up", 3, 0)[2] == cell(2, false));
  CHECK(shuffled("down", 3, 31)[28] == cell(31, true));
  CHECK(shuffled("down", 3, 31)[29] == cell(29, false));
  CHECK(shuffled("bfly", 16, 31)[3] == cell(19, true));
}

TEST_CASE("lanes: votes, matches, sums and the elected lane") {
  Lab lab;
  lab.fill([](size_t i) { return i % 4; });
  lab.run(
      "setp.eq.u32 %p1, %r1, 1;\nvote.sync.ballot.b32 %r3, %p1, -1;\nvote.sync.any.pred %p2, %p1, "
      "-1;\n"
      "vote.sync.all.pred %p3, %p1, -1;\nselp.u32 %r4, 1, 0, %p2;\n@%p3 add.s32 %r4, %r4, 2;\n"
      "st.global.v2.u32 [%d2], {%r3, %r4};");
  CHECK(lab.out[17] == (0x22222222u | uint64_t{1} << 32));
  lab.run(
      "match.any.sync.b32 %r3, %r1, -1;\nredux.sync.add.u32 %r4, %r1, -1;\nst.global.v2.u32 [%d2], "
      "{%r3, %r4};");
  CHECK(lab.out[6] == (0x44444444u | uint64_t{48} << 32));
  lab.run("elect.sync %r3|%p1, -1;\nselp.u32 %r4, 1, 0, %p1;\nst.global.v2.u32 [%d2], {%r3, %r4};");
  CHECK(lab.out[0] == uint64_t{1} << 32);
  CHECK(lab.out[1] == 0);
  lab.run(
      "setp.gt.u32 %p1, %r0, 3;\n@!%p1 bra OUT;\nredux.sync.max.u32 %r3, %r1, 0xfffffff0;\n"
      "st.global.u32 [%d2], %r3;\nOUT:");
  CHECK(lab.out[4] == 3);
}

TEST_CASE("lanes: members that never arrive, and lanes that are no members") {
  Lab lab;
  CHECK(says(lab.fault("setp.eq.u32 %p1, %r0, 0;\n@%p1 bar.warp.sync -1;"), "skip it"));
  CHECK(says(lab.fault("bar.warp.sync 1;"), "not in the member mask"));
  CHECK(says(lab.fault("bar.warp.sync %r0;"), "different members"));
  // Lane 0 has exited, so nobody waits for it.
  CHECK(lab.fault("setp.eq.u32 %p1, %r0, 0;\n@%p1 ret;\nbar.warp.sync -1;").empty());
}
