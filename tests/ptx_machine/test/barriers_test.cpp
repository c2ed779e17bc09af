// SPDX-License-Identifier: Apache-2.0
// Barriers of CTAs and clusters, mbarriers, and their misuse.
#include "tests/ptx_machine/instructions/barriers.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const std::string kInit =
    "mov.u32 %r10, fixed;\nsetp.eq.u32 %p6, %r0, 0;\n@%p6 mbarrier.init.shared::cta.b64 [%r10], "
    "%r11;\nbar.sync 0;\n";
/// Initializes an mbarrier at %r10 with `count` arrivals.
std::string barrier(uint32_t count) {
  return "mov.u32 %r11, " + std::to_string(count) + ";\n" + kInit;
}
/// Waits for the phase with this parity.
std::string wait(uint32_t parity) {
  const std::string label = "WAIT" + std::to_string(parity);
  return "{\n" + label + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p7, [%r10], " +
         std::to_string(parity) + ";\n@!%p7 bra " + label + ";\n}\n";
}

}  // namespace

TEST_CASE("barriers: bar.sync waits for all warps of a CTA or for a given count") {
  Lab lab;
  lab.shape.block[0] = 128;
  lab.fill([](size_t i) { return i; });
  const std::string body =
      "mov.u32 %r3, fixed;\nshl.b32 %r4, %r0, 2;\nadd.s32 %r5, %r3, %r4;\nst.shared.u32 [%r5], "
      "%r1;\nbar.sync 0;\n"
      "xor.b32 %r4, %r4, 256;\nadd.s32 %r5, %r3, %r4;\nld.shared.u32 %r6, [%r5];\nst.global.u32 "
      "[%d2], %r6;";
  for (const uint64_t seed : {0, 1, 2}) {
    lab.options.seed = seed;
    lab.run(body);
    for (uint64_t i = 0; i < 128; ++i) CHECK(lab.out[i] == (i ^ 64));
  }
  // Warps 2 and 3 arrive without waiting; warps 0 and 1 wait for them.
  lab.run(
      "mov.u32 %r3, fixed;\nsetp.lt.u32 %p1, %r0, 64;\n@%p1 bra CONSUMER;\nst.shared.u32 [%r3], "
      "%r31;\n"
      "bar.arrive 1, 128;\nbra.uni OUT;\nCONSUMER:\nbar.sync 1, 128;\nmov.u32 %r4, "
      "9;\nst.global.u32 [%d2], %r4;\nOUT:");
  CHECK(lab.out[0] == 9);
  CHECK(lab.out[100] == 0);
}

TEST_CASE("barriers: arrivals and bytes end a phase") {
  Lab lab;
  lab.shape.block[0] = 64;
  lab.run(barrier(64) + "mbarrier.arrive.shared::cta.b64 _, [%r10];\n" + wait(0) +
          "mov.u32 %r3, 5;\nst.global.u32 [%d2], %r3;");
  CHECK(lab.out[63] == 5);
  // The phase before the first has ended.
  CHECK(lab.fault(barrier(64) + wait(1)).empty());
  // st.async completes bytes.
  CHECK(
      lab.fault(barrier(1) +
                "mov.u32 %r4, 8;\n@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], %r4;\n"
                "mov.u32 %r12, fixed+64;\n@%p6 "
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%r12], {%f1, "
                "%f2}, [%r10];\n" +
                wait(0))
          .empty());
}

TEST_CASE("barriers: misuse is reported") {
  Lab lab;
  CHECK(says(lab.fault(barrier(1) + wait(0)), "deadlock"));
  CHECK(says(
      lab.fault(
          barrier(1) +
          "mov.u32 %r4, 16;\n@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], %r4;\n" +
          wait(0)),
      "deadlock"));
  CHECK(says(lab.fault("mov.u32 %r10, fixed;\nmbarrier.arrive.shared::cta.b64 _, [%r10];"),
             "no barrier has been initialised"));
  CHECK(says(lab.fault("mov.u32 %r10, fixed+4;\nmbarrier.arrive.shared::cta.b64 _, [%r10];"),
             "no multiple of 8"));
  CHECK(says(lab.fault(barrier(0)), "count is out of range"));
  CHECK(says(lab.fault(barrier(40) + "mbarrier.arrive.shared::cta.b64 _, [%r10], 41;"),
             "more arrivals"));
  CHECK(says(lab.fault(barrier(1) +
                       "mov.u32 %r4, 1048575;\nmbarrier.expect_tx.shared::cta.b64 [%r10], %r4;"),
             "transaction count is out of range"));
  CHECK(says(lab.fault("bar.sync 16;"), "number exceeds 15"));
  CHECK(says(lab.fault("bar.sync 1, 33;"), "multiple of 32"));
  CHECK(says(lab.fault("bar.sync 1, 64;"), "deadlock"));
  lab.shape.block[0] = 64;
  CHECK(says(lab.fault("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra A;\nbar.sync 1, 64;\nbra "
                       "OUT;\nA:\nbar.sync 1, 96;\nOUT:"),
             "different counts"));
  // Half of the warp never reaches the barrier.
  CHECK(says(lab.fault("and.b32 %r3, %r0, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bar.sync 0;"),
             "skip it"));
  CHECK(says(lab.fault("barrier.cluster.wait.aligned;"), "without having arrived"));
  CHECK(
      says(lab.fault("barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;"), "twice"));
}

TEST_CASE("registers: setmaxnreg redistributes the registers of the launch") {
  Lab lab;
  lab.shape.block[0] = 384;
  const auto shared_out = [](int few, int many) {
    return "setp.lt.u32 %p1, %r0, 128;\n@%p1 bra PRODUCER;\nsetmaxnreg.inc.sync.aligned.u32 " +
           std::to_string(many) + ";\nbra OUT;\nPRODUCER:\nsetmaxnreg.dec.sync.aligned.u32 " +
           std::to_string(few) + ";\nOUT:";
  };
  CHECK(lab.fault(shared_out(40, 232)) == "");
  CHECK(lab.fault(shared_out(56, 224)) == "");
  CHECK(says(lab.fault(shared_out(48, 232)), "65536 registers, but the launch has at most 64512"));
}
