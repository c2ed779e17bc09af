// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, done at once and as late as possible. The device tests cover tensor copies:
// they run the library's kernels on the machine.
#include "tests/ptx_machine/instructions/bulk.hpp"

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const std::string kBarrier =
    "mov.u32 %r10, fixed;\nmov.u32 %r11, 1;\nsetp.eq.u32 %p6, %r0, 0;\nmov.u32 %r12, fixed+1024;\n"
    "mov.u32 %r13, 256;\n@%p6 mbarrier.init.shared::cta.b64 [%r10], %r11;\nbar.sync 0;\n";
const std::string kLoad =
    "@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], %r13;\n"
    "@%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%d1], %r13, "
    "[%r10];\n";
const std::string kWait =
    "{\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p7, [%r10], 0;\n@!%p7 bra WAIT;\n}\n";
const std::string kRead =
    "shl.b32 %r4, %r0, 3;\nadd.s32 %r4, %r4, %r12;\nld.shared.u64 %d5, [%r4];\nst.global.u64 "
    "[%d2], %d5;\n";

}  // namespace

TEST_CASE("bulk: a load has arrived when its mbarrier completes, not before") {
  Lab lab;
  lab.fill([](size_t i) { return 1000 + i; });
  for (const bool late : {false, true}) {
    lab.options.late = late;
    lab.run(kBarrier + kLoad + kWait + kRead);
    CHECK(lab.out == lab.in);
  }
  // Without the wait the program reads before a late load.
  CHECK(says(lab.fault(kBarrier + kLoad + kRead), "nothing has written"));
}

TEST_CASE("bulk: wait_group waits until stores have read their source") {
  Lab lab;
  lab.fill([](size_t i) { return 7 * i; });
  const std::string store =
      "mov.u32 %r12, fixed+1024;\nsetp.eq.u32 %p6, %r0, 0;\nshl.b32 %r4, %r0, 3;\nadd.s32 %r4, "
      "%r4, %r12;\n"
      "st.shared.u64 [%r4], %d4;\nfence.proxy.async.shared::cta;\nbar.sync 0;\nmov.u32 %r13, 256;\n"
      "@%p6 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r12], %r13;\n@%p6 "
      "cp.async.bulk.commit_group;\n";
  const std::string wait = "@%p6 cp.async.bulk.wait_group.read 0;\n";
  const std::string overwrite = "bar.sync 0;\nmov.u64 %d5, -1;\nst.shared.u64 [%r4], %d5;";
  for (const bool late : {false, true}) {
    lab.options.late = late;
    lab.run(store + wait + overwrite);
    CHECK(lab.out == lab.in);
  }
  lab.run(store + overwrite);
  CHECK(lab.out != lab.in);
}

TEST_CASE("bulk: copies by threads fill with zeros") {
  Lab lab;
  lab.fill([](size_t i) { return 0x1111111111111111u * (i % 15 + 1); });
  const std::string copy =
      "mov.u32 %r12, fixed;\nshl.b32 %r4, %r0, 3;\nadd.s32 %r4, %r4, %r12;\nmov.u32 %r5, 3;\n"
      "cp.async.ca.shared.global [%r4], [%d3], 8, %r5;\ncp.async.commit_group;\n";
  const std::string read = "ld.shared.u64 %d5, [%r4];\nst.global.u64 [%d2], %d5;";
  for (const bool late : {false, true}) {
    lab.options.late = late;
    lab.run(copy + "cp.async.wait_group 0;\n" + read);
    for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == (lab.in[i] & 0xffffff));
  }
  CHECK(says(lab.fault(copy + read), "nothing has written"));
}

TEST_CASE("bulk: sums in global memory") {
  Lab lab;
  lab.fill([](size_t i) { return i; });
  lab.run(
      "mov.u32 %r12, fixed;\nsetp.eq.u32 %p6, %r0, 0;\nshl.b32 %r4, %r0, 3;\nadd.s32 %r4, %r4, "
      "%r12;\n"
      "st.shared.u64 [%r4], %d4;\nst.global.u64 [%d2], %d4;\nbar.sync 0;\nmov.u32 %r13, 256;\n"
      "@%p6 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d0], [%r12], %r13;\n@%p6 "
      "cp.async.bulk.commit_group;\n"
      "@%p6 cp.async.bulk.wait_group 0;");
  for (uint64_t i = 0; i < 32; ++i) CHECK(lab.out[i] == 2 * i);
}

TEST_CASE("bulk: what the hardware refuses") {
  Lab lab;
  CHECK(says(lab.fault(kBarrier + "mov.u32 %r13, 250;\n" + kLoad), "multiple"));
  CHECK(says(lab.fault(kBarrier + "mov.u32 %r13, 512;\n" + kLoad), "outside global memory"));
  CHECK(says(lab.fault(kBarrier + "mov.u32 %r12, fixed+4000;\n" + kLoad), "outside shared memory"));
  CHECK(says(
      lab.fault(
          kBarrier +
          "mov.u32 %r13, 128;\n@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], %r11;\n"
          "@%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%d1], "
          "%r13, [%r10];\n" +
          kWait),
      "deadlock"));
  CHECK(says(lab.fault("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::"
                       "bytes [%r0], [%d3, {%r1}], [%r0];"),
             "tensor map"));
}
