// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomic operations in each state space, and accesses out of bounds.
#include "tests/ptx_machine/instructions/memory.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("memory: widths, signs and vectors") {
  Lab lab;
  lab.fill([](size_t i) { return 0x80ff7f0180ff7f00u + i; });
  lab.run(
      "ld.global.s8 %r3, [%d3+3];\nst.global.u32 [%d2], %r3;\nld.global.nc.L1::no_allocate.u16 "
      "%h1, [%d3+2];\n"
      "st.global.u16 [%d2+4], %h1;\nst.global.u8 [%d2+6], %h1;");
  CHECK(lab.out[5] == 0x00ff80ffffffff80u);
  lab.run("ld.global.v2.u32 {%r3, %r4}, [%d3];\nst.global.v2.u32 [%d2], {%r4, %r3};");
  CHECK(lab.out[7] == 0x80ff7f0780ff7f01u);
}

TEST_CASE("memory: shared and local memory, and their generic addresses") {
  Lab lab;
  lab.fill([](size_t i) { return i * 3; });
  lab.run(
      "mov.u32 %r3, fixed;\nshl.b32 %r4, %r0, 2;\nadd.s32 %r3, %r3, %r4;\nst.shared.u32 [%r3], "
      "%r1;\n"
      "bar.sync 0;\ncvt.u64.u32 %d5, %r3;\ncvta.shared.u64 %d5, %d5;\nxor.b64 %d5, %d5, 4;\nld.u32 "
      "%r5, [%d5];\n"
      "st.global.u32 [%d2], %r5;");
  for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == (i ^ 1) * 3);
  lab.run(
      ".local .align 8 .b8 depot[16];\nst.local.u32 [depot+8], %r1;\nld.local.u32 %r3, [depot+8];\n"
      "st.global.u32 [%d2], %r3;");
  for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == i * 3);
}

TEST_CASE("memory: atomic operations count every lane") {
  Lab lab;
  lab.fill([](size_t i) { return i; });
  lab.run(
      "red.global.add.u32 [%d0], 1;\natom.global.max.u32 %r3, [%d0+8], "
      "%r1;\nred.relaxed.gpu.global.add.f32 [%d0+16], 0f3F000000;");
  CHECK(lab.out[0] == 32);
  CHECK(lab.out[1] == 31);
  CHECK(lab.out[2] == std::bit_cast<uint32_t>(16.0f));
  lab.run(
      "mov.u32 %r3, 0;\nAGAIN:\nadd.s32 %r4, %r3, 1;\natom.relaxed.gpu.global.cas.b32 %r5, [%d0], "
      "%r3, %r4;\n"
      "setp.ne.u32 %p1, %r5, %r3;\nmov.u32 %r3, %r5;\n@%p1 bra AGAIN;\n");
  CHECK(lab.out[0] == 32);
}

TEST_CASE("memory: accesses out of bounds, misaligned or to unwritten bytes are faults") {
  Lab lab;
  CHECK(says(lab.fault("st.global.u32 [%d0+256], %r1;"), "outside global memory: 4 bytes"));
  CHECK(lab.fault("st.global.u32 [%d0+252], %r1;").empty());
  CHECK(says(lab.fault("ld.global.u32 %r3, [%d1+-4];"), "outside global memory"));
  CHECK(says(lab.fault("ld.global.u64 %d5, [%d1+4];"), "not aligned: 8 bytes"));
  CHECK(says(lab.fault("st.shared.u32 [fixed+4096], %r1;"), "outside shared memory"));
  CHECK(says(lab.fault("st.shared.u32 [0], %r1;"), "outside shared memory"));
  CHECK(says(lab.fault("ld.shared.u32 %r3, [fixed];"), "nothing has written"));
  CHECK(says(lab.fault("ld.param.u64 %d5, [in+8];"), "outside the parameters"));
  CHECK(says(lab.fault("mov.u32 %r3, 16777216;\nld.shared::cluster.u32 %r4, [%r3];"),
             "outside shared memory"));
  // The report names line, instruction, kernel, CTA and warp.
  CHECK(says(lab.fault("st.global.u32 [%d0+256], %r1;"),
             "test.ptx:24 (st), kernel test, CTA (0, 0, 0), warp 0: "));
}

TEST_CASE("memory: f32 additions flush subnormals in global, not in shared memory") {
  Lab lab;
  lab.fill([](size_t) { return 0x23; });
  lab.run("st.global.u32 [%d2], %r1;\nred.global.add.f32 [%d2], 0f00000100;");
  CHECK(lab.out[5] == 0);
  lab.run(
      "mov.u32 %r3, fixed;\nshl.b32 %r4, %r0, 2;\nadd.s32 %r3, %r3, %r4;\nst.shared.u32 [%r3], "
      "%r1;\nred.shared.add.f32 [%r3], 0f00000100;\nld.shared.u32 %r5, [%r3];\nst.global.u32 "
      "[%d2], %r5;");
  CHECK(lab.out[5] == 0x123);
}

TEST_CASE("memory: the shared memory of a cluster's other CTAs") {
  Lab lab;
  lab.shape.grid[0] = lab.shape.cluster[0] = 2;
  lab.fill([](size_t i) { return 100 + i; });
  const std::string begin =
      "mov.u32 %r3, fixed;\nshl.b32 %r4, %r0, 2;\nadd.s32 %r3, %r3, %r4;\nst.shared.u32 [%r3], "
      "%r1;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u32 %r5, "
      "%cluster_ctarank;\n"
      "xor.b32 %r5, %r5, 1;\nmapa.shared::cluster.u32 %r6, %r3, %r5;\n";
  lab.run(begin +
          "ld.shared::cluster.u32 %r7, [%r6];\nst.global.u32 [%d2], %r7;\n"
          "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
  for (uint64_t i = 0; i < 64; ++i) CHECK(lab.out[i] == 100 + (i ^ 32));
  CHECK(says(lab.fault(begin + "ld.shared::cta.u32 %r7, [%r6];"), "another CTA's"));
  // The first CTA may have exited.
  CHECK(
      says(lab.fault(
               begin +
               "setp.eq.u32 %p1, %r5, 1;\n@%p1 ret;\nmov.u32 %r8, 0;\nWAIT:\nadd.s32 %r8, %r8, 1;\n"
               "setp.lt.u32 %p2, %r8, 3000;\n@%p2 bra WAIT;\nld.shared::cluster.u32 %r7, [%r6];"),
           "CTA that has exited"));
}
