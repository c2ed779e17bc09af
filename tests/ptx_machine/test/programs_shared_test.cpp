// SPDX-License-Identifier: Apache-2.0
// Good and bad programs: threads, barriers and bulk copies in shared memory.
#include "tests/ptx_machine/test/pairs.hpp"

using namespace tw;
using namespace tw::test;

TEST_CASE("programs: threads that write and read shared memory") {
  good({}, kPlaces + kStore + kSync + kLoadOther);
  bad({}, kPlaces + kStore + kLoadOther, "race: ");
  good({}, kPlaces + kStore + kSync + kLoadOther + kSync + kStore);
  bad({}, kPlaces + kStore + kSync + kLoadOther + kStore, "race: ");
  good({}, kPlaces + "@%p2 st.shared.u64 [%r10], %d4;\n" + kSync + kStore);
  bad({}, kPlaces + "st.shared.u64 [%r10], %d4;\n",
      "race: write is not ordered after an earlier write");
}

TEST_CASE("programs: lanes of a warp") {
  const std::string read =
      "xor.b32 %r6, %r4, 8;\nadd.s32 %r6, %r6, %r10;\nld.shared.u64 %d5, [%r6];\n";
  good({}, kPlaces + kStore + "bar.warp.sync -1;\n" + read);
  bad({}, kPlaces + kStore + read, "bar.warp.sync would order them");
  const std::string met = "bar.warp.sync -1;\n";
  good({}, kPlaces + kStore + met + read + met + kStore);
  bad({}, kPlaces + kStore + met + read + kStore,
      "race: write is not ordered after an earlier read by another lane");
  const std::string rows = "shl.b32 %r7, %r0, 4;\nadd.s32 %r7, %r7, %r10;\n";
  const std::string write = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7], {%r8};\n";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r7];\n";
  good({1}, kPlaces + rows + write + met + load + met + write);
  CHECK(letters().empty());
  // stmatrix waits for all lanes, which orders the two on known hardware.
  good({1}, kPlaces + rows + write + met + load + write);
  CHECK(letters().size() == 1);
  // A lane may overwrite what it has read itself.
  good({}, kPlaces + kStore + "ld.shared.u64 %d5, [%r11];\n" + kStore);
  const std::string begin =
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10], %r23;\n";
  const std::string bytes = "mov.u32 %r23, 256;\n";
  good({1},
       kPlaces + bytes + kStore + kFence + "bar.warp.sync -1;\n" + begin + kCommit + kBulkWaitRead);
  bad({1}, kPlaces + bytes + kStore + kFence + begin, "bar.warp.sync would order them");
}

TEST_CASE("programs: named barriers") {
  const std::string consumer = "@!%p2 bra OUT;\nbar.sync 1, 64;\n" + kLoadOther + "OUT:\n";
  good({}, kPlaces + "@%p2 bra NEXT;\n" + kStore + "bar.arrive 1, 64;\nNEXT:\n" + consumer);
  bad({}, kPlaces + "@%p2 bra NEXT;\nbar.arrive 1, 64;\n" + kStore + "NEXT:\n" + consumer,
      "race: ");
  good({}, kPlaces +
               "@%p2 bra A;\nbar.sync 1, 64;\nbar.sync 2, 64;\nbra OUT;\nA:\nbar.sync 1, 64;\n"
               "bar.sync 2, 64;\nOUT:\n");
  bad({},
      kPlaces +
          "@%p2 bra A;\nbar.sync 1, 64;\nbar.sync 2, 64;\nbra OUT;\nA:\nbar.sync 2, 64;\n"
          "bar.sync 1, 64;\nOUT:\n",
      "deadlock");
}

TEST_CASE("programs: bounds, alignment and unwritten bytes") {
  good({}, kPlaces + "ld.shared.u64 %d5, [%r10+4088];\n");
  bad({}, kPlaces + "ld.shared.u64 %d5, [%r10+4096];\n", "outside shared memory");
  good({}, kPlaces + "ld.global.u64 %d5, [%d1+504];\n");
  bad({}, kPlaces + "ld.global.u64 %d5, [%d1+512];\n", "outside global memory");
  good({}, kPlaces + "ld.shared.u32 %r6, [%r10+4];\n");
  bad({}, kPlaces + "ld.shared.u64 %d5, [%r10+4];\n", "not aligned");
  Lab lab;
  CHECK(lab.fault(kPlaces + kStore + "ld.shared.u64 %d5, [%r11];\n").empty());
  CHECK(
      says(lab.fault(kPlaces + kStore + "ld.shared.u64 %d5, [%r11+8];\n"), "nothing has written"));
}

TEST_CASE("programs: barriers in shared memory") {
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r20];\n";
  good({}, kPlaces + init(64) + kSync + kStore + arrive + await() + kLoadOther);
  bad({}, kPlaces + init(64) + kSync + arrive + kStore + await() + kLoadOther, "race: ");
  bad({}, kPlaces + init(64) + arrive + await(), "initialization is not ordered before");
  bad({}, kPlaces + init(65) + kSync + arrive + await(), "deadlock");
  bad({},
      kPlaces + init(63) + kSync + arrive +
          "bar.sync 0;\n@%p1 mbarrier.arrive.shared::cta.b64 _, [%r20], 63;\n",
      "more arrivals");
  bad({}, kPlaces + "mov.u32 %r20, fixed+2048;\n" + arrive, "no barrier has been initialised");
  bad({}, kPlaces + init(64) + kSync + await(), "deadlock");
  const std::string over = "@%p1 st.shared.u64 [%r20], %d4;\n";
  good({}, kPlaces + init(64) + kSync + arrive + await() + kSync +
               "@%p1 mbarrier.inval.shared::cta.b64 [%r20];\n" + over);
  bad({}, kPlaces + init(64) + kSync + arrive + await() + kSync + over, "overwrites an mbarrier");
}

TEST_CASE("programs: transaction counts") {
  const std::string begin = kPlaces + init(1) + kSync;
  good({}, begin + expect(512) + bulk_load(512) + await() + kLoadOther);
  bad({}, begin + expect(256) + bulk_load(512) + await() + kLoadOther, "deadlock");
  bad({}, begin + expect(528) + bulk_load(512) + await() + kLoadOther, "deadlock");
  bad({}, begin + expect(512) + await(), "deadlock");
  bad({}, begin + bulk_load(512) + await(), "deadlock");
  bad({},
      begin + "mov.u32 %r22, 1048575;\n@%p1 mbarrier.expect_tx.shared::cta.b64 [%r20], %r22;\n" +
          expect(1),
      "transaction count is out of range");
  // An arrival before expect_tx: the phase ends without the bytes.
  bad({},
      begin + "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r20];\n" + bulk_load(512) + await() +
          kLoadOther,
      "race: ");
  // Two loads that share a phase.
  const std::string second =
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10+512], [%d1], "
      "%r23, [%r20];\n";
  good({}, begin + expect(1024) + bulk_load(512) + second + await() + kLoadOther);
  bad({},
      begin + expect(512) + bulk_load(512) + second + await("A") +
          "ld.shared.u64 %d5, [%r11+512];\n",
      "race: ");
}

TEST_CASE("programs: loads that complete at two barriers") {
  const std::string begin =
      kPlaces + init(1) +
      "add.s32 %r24, %r20, 8;\n@%p1 mbarrier.init.shared::cta.b64 [%r24], %r21;\n" + kSync;
  const std::string second =
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r24], %r22;\n"
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10+512], [%d1], "
      "%r23, [%r24];\n";
  const std::string loads = expect(512) + bulk_load(512) + second;
  const std::string next = "mov.u32 %r20, %r24;\n";
  const std::string later = "ld.shared.u64 %d5, [%r11+512];\n";
  good({}, begin + loads + await() + kLoadOther + next + await("NEXT") + later);
  bad({}, begin + loads + await() + later + next + await("NEXT"), "race: ");
  // The end of the second load says nothing about the first one.
  bad({}, begin + loads + next + await("NEXT") + kLoadOther, "race: ");
}

TEST_CASE("programs: loads in bulk") {
  const std::string begin = kPlaces + init(1) + kSync;
  good({}, begin + expect(512) + bulk_load(512) + await() + kLoadOther);
  bad({}, begin + expect(512) + bulk_load(512) + kLoadOther, "race: ");
  // The load overwrites bytes that threads still read, or have written.
  const std::string load = expect(512) + bulk_load(512) + await();
  good({}, begin + kStore + kFence + kSync + kLoadOther + kSync + load);
  bad({}, begin + kStore + kFence + kSync + kLoadOther + load, "race: ");
  bad({}, begin + kStore + kSync + kLoadOther + kSync + load, "no fence.proxy.async");
  // Two loads of the same bytes.
  good({}, begin + load + kSync + expect(512) + bulk_load(512) + await("B", 1) + kLoadOther);
  bad({}, begin + expect(1024) + bulk_load(512) + bulk_load(512) + await() + kLoadOther, "race: ");
}

TEST_CASE("programs: what the async proxy reads") {
  good({}, kPlaces + kStore + kFence + kSync + bulk_store() + kCommit + kBulkWaitRead);
  good({}, kPlaces + kStore + kSync + kFence + bulk_store() + kCommit + kBulkWaitRead);
  good({},
       kPlaces + kStore + "fence.proxy.async;\n" + kSync + bulk_store() + kCommit + kBulkWaitRead);
  bad({}, kPlaces + kStore + kSync + bulk_store(), "no fence.proxy.async");
  bad({}, kPlaces + kFence + kStore + kSync + bulk_store(), "no fence.proxy.async");
  bad({}, kPlaces + kStore + "fence.proxy.async.global;\n" + kSync + bulk_store(),
      "no fence.proxy.async");
  bad({}, kPlaces + kStore + kFence + bulk_store(), "race: ");
}

TEST_CASE("programs: groups of bulk stores") {
  const std::string begin = kPlaces + kStore + kFence + kSync + bulk_store();
  const std::string read = "ld.global.u64 %d5, [%d2];\n";
  good({}, begin + kCommit + kBulkWaitRead + kSync + kStore);
  bad({}, begin + kCommit + kSync + kStore, "race: ");
  bad({}, begin + kBulkWaitRead + kSync + kStore, "race: ");
  good({}, begin + kCommit + kBulkWait + kSync + read);
  bad({}, begin + kCommit + kBulkWaitRead + kSync + read, "without .read");
  // The CTA must not exit while the store reads.
  good({}, begin + kCommit + kBulkWaitRead);
  bad({}, begin + kCommit, "the CTA exits");
  // A newer group may stay pending.
  const std::string other =
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10+512], %r23;\n" + kCommit;
  good({}, kPlaces + "st.shared.u64 [%r11+512], %d4;\n" + begin + kCommit + kBulkWait + other +
               kBulkWaitRead + kSync + kStore);
  bad({}, kPlaces + "st.shared.u64 [%r11+512], %d4;\n" + begin + kCommit + other,
      "race: write is not ordered after an earlier write");
  const std::string reduce =
      "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d0], [%r10], %r23;\n";
  good({}, begin + kCommit + kBulkWait + reduce + kCommit + reduce + kCommit + kBulkWaitRead);
  bad({}, begin + kCommit + reduce + kCommit, "race: write is not ordered after an earlier write");
}

TEST_CASE("programs: copies by threads") {
  const std::string copy = "cp.async.ca.shared.global [%r11], [%d3], 8;\n";
  good({},
       kPlaces + copy + "cp.async.commit_group;\ncp.async.wait_group 0;\n" + kSync + kLoadOther);
  bad({}, kPlaces + copy + "cp.async.commit_group;\n" + kSync + kLoadOther, "cp.async.wait_group");
  bad({}, kPlaces + copy + "cp.async.wait_group 0;\n" + kSync + kLoadOther, "cp.async.wait_group");
  bad({}, kPlaces + copy + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + kSync + kLoadOther,
      "cp.async.wait_group");
  bad({}, kPlaces + copy + "cp.async.wait_all;\n" + kLoadOther, "race: ");
  const std::string begin = kPlaces + init(64) + kSync + copy;
  good({},
       begin + "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r20];\n" + await() + kLoadOther);
  bad({}, begin + "mbarrier.arrive.shared::cta.b64 _, [%r20];\n" + await() + kLoadOther,
      "cp.async.mbarrier.arrive");
  // A bulk store reads the copied bytes.
  const std::string all = copy + "cp.async.wait_all;\n";
  good({}, kPlaces + all + kFence + kSync + bulk_store() + kCommit + kBulkWaitRead);
  bad({}, kPlaces + all + kSync + bulk_store(), "no fence.proxy.async");
}

TEST_CASE("programs: instructions that all lanes of a warp execute") {
  const std::string odd = "and.b32 %r6, %r0, 1;\nsetp.eq.u32 %p3, %r6, 0;\n";
  good({}, kPlaces + odd + "bar.sync 0;\n");
  bad({}, kPlaces + odd + "@%p3 bar.sync 0;\n", "skip it");
  good({}, kPlaces + odd + "@%p3 bra A;\nadd.s32 %r7, %r6, 1;\nA:\nbar.sync 0;\n");
  bad({}, kPlaces + odd + "@%p3 bra A;\nbar.sync 0;\nbra OUT;\nA:\nbar.sync 0;\nOUT:\n",
      "deadlock");
  good({}, kPlaces + odd + "shfl.sync.idx.b32 %r7, %r6, 0, 31, -1;\n");
  bad({}, kPlaces + odd + "@%p3 shfl.sync.idx.b32 %r7, %r6, 0, 31, -1;\n", "skip it");
  bad({}, kPlaces + odd + "@%p3 shfl.sync.idx.b32 %r7, %r6, 1, 31, 0x55555555;\n",
      "reads a lane that does not take part");
  bad({}, kPlaces + "barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;\n", "twice");
  bad({}, kPlaces + "barrier.cluster.wait.aligned;\n", "without having arrived");
}

TEST_CASE("programs: shared memory through atomic operations") {
  const std::string add = "atom.shared.add.u32 %r6, [%r10], 1;\n";
  good({}, kPlaces + "@%p1 st.shared.u32 [%r10], %r0;\n" + kSync + add);
  bad({}, kPlaces + "@%p1 st.shared.u32 [%r10], %r0;\n" + add, "race: ");
  const std::string turn =
      "TURN:\nld.acquire.cta.shared.u32 %r6, [%r10+1024];\nsetp.eq.u32 %p3, %r6, 0;\n@%p3 bra "
      "TURN;\n";
  const std::string zero = "@%p1 st.shared.u32 [%r10+1024], %r0;\n" + kSync;
  const auto pass = [&](const char* order) {
    return kPlaces + zero + "@%p2 bra NEXT;\n" + kStore +
           "bar.warp.sync -1;\nmov.u32 %r7, 1;\nst." + order +
           ".cta.shared.u32 [%r10+1024], %r7;\nbra OUT;\nNEXT:\n" + turn + kLoadOther + "OUT:\n";
  };
  good({}, pass("release"));
  bad({}, pass("relaxed"), "race: ");
}

TEST_CASE("programs: a report says both places, the bytes and what would order them") {
  const std::string said = reported({}, {{kPlaces + kStore + kSync + bulk_store()}}, false, 0);
  CHECK(says(said, "test.ptx:"));
  CHECK(says(said, "(cp), kernel test, CTA (0, 0, 0), warp 0: no fence.proxy.async"));
  CHECK(says(said, "shared memory 1024 to 1279 of CTA rank 0; the other access is test.ptx:"));
  CHECK(says(said, "(st) by warp 0 of CTA rank 0; fence.proxy.async would order them"));
  // The report names the source line if the PTX has it.
  const std::string from =
      ".loc 1 17 3\n" + kStore + ".loc 1 18 3, function_name $L, inlined_at 1 2 3\n";
  std::string text = kernel_text(kPlaces + from + kLoadOther);
  text += ".file 1 \"kernel.cuh\"\n.section .debug_str {\n.b8 1\n}\n";
  Lab lab;
  lab.shape.block[0] = 64;
  lab.options.judge = true;
  lab.options.strict_reads = false;
  CHECK_THROWS_WITH_AS(lab.run_text(text), doctest::Contains("(ld) from kernel.cuh:18 by warp 0"),
                       ptx_machine::Error);
}
