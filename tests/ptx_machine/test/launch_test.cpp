// SPDX-License-Identifier: Apache-2.0
// Grids, clusters, special registers, and invalid launches.
#include "tests/ptx_machine/machine/launch.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("launch: coordinates of threads, CTAs and clusters") {
  Lab lab;
  lab.shape.grid[0] = 4;
  lab.shape.block[0] = 48;
  lab.shape.cluster[0] = 2;
  lab.run(
      "mov.u32 %r3, %cluster_ctarank;\nmov.u32 %r4, %clusterid.x;\nmad.lo.u32 %r3, %r4, 10, "
      "%r3;\nmov.u32 %r5, %nclusterid.x;\n"
      "mad.lo.u32 %r3, %r5, 100, %r3;\nmov.u32 %r6, %warpid;\nmov.u32 %r7, %laneid;\nmad.lo.u32 "
      "%r6, %r6, 100, %r7;\n"
      "st.global.v2.u32 [%d2], {%r3, %r6};");
  for (uint64_t i = 0; i < lab.out.size(); ++i) {
    const uint64_t cta = i / 48, thread = i % 48;
    CHECK(lab.out[i] == 200 + cta / 2 * 10 + cta % 2 + ((thread / 32 * 100 + thread % 32) << 32));
  }
}

TEST_CASE("launch: more CTAs than are resident, and one that waits for its predecessor") {
  Lab lab;
  lab.shape.grid[0] = 40;
  lab.options.resident = 3;
  const std::string body =
      "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra OUT;\nTURN:\nld.relaxed.gpu.global.u32 %r3, "
      "[%d0];\nsetp.ne.u32 %p2, %r3, %r30;\n"
      "@%p2 bra TURN;\nadd.s32 %r3, %r3, 1;\nst.global.u32 [%d0], %r3;\nOUT:";
  for (const uint64_t seed : {0, 9}) {
    lab.options.seed = seed;
    lab.run(body);
    CHECK(lab.out[0] == 40);
  }
}

TEST_CASE("launch: a cluster's barrier, with threads that have exited") {
  Lab lab;
  lab.shape.grid[0] = lab.shape.cluster[0] = 2;
  lab.run(
      "setp.lt.u32 %p1, %r0, 7;\n@%p1 "
      "ret;\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "mov.u32 %r3, 1;\nst.global.u32 [%d2], %r3;");
  CHECK(lab.out[6] == 0);
  CHECK(lab.out[7] == 1);
  CHECK(
      says(lab.fault("setp.eq.u32 %p1, %r30, 0;\n@%p1 bra "
                     "OUT;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nOUT:\n"
                     "@%p1 bar.sync 1, 64;"),
           "deadlock"));
}

TEST_CASE("launch: a turn whose first lanes wait is no deadlock") {
  Lab lab;
  const std::string body =
      "setp.lt.u32 %p1, %r0, 16;\nmov.u32 %r3, 0;\n@!%p1 bra LONG;\nMEET:\nbar.warp.sync -1;\n"
      "st.global.u32 [%d2], %r3;\nret;\nLONG:\nadd.s32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 30000;\n"
      "@%p2 bra LONG;\nbra MEET;";
  for (const uint64_t seed : {1, 2, 3}) {
    lab.options.seed = seed;
    lab.run(body);
    CHECK(lab.out[31] == 30000);
  }
}

TEST_CASE("launch: shapes that no hardware has") {
  Lab lab;
  lab.shape.cluster[0] = 2;
  CHECK(says(lab.fault(""), "not a multiple of the cluster"));
  lab.shape.cluster[0] = 1;
  lab.shape.dynamic_shared = 1 << 20;
  CHECK(says(lab.fault("mov.u32 %r3, dynamic;"), "too much shared memory"));
}
