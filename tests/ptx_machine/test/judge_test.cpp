// SPDX-License-Identifier: Apache-2.0
// The judge passes good programs and reports them without their wait or fence.
#include "tests/ptx_machine/machine/judge.hpp"

#include <algorithm>

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const std::string kStore =
    "mov.u32 %r10, fixed;\nshl.b32 %r4, %r0, 3;\nadd.s32 %r11, %r4, %r10;\nst.shared.u64 [%r11], "
    "%d4;\n";
const std::string kSync = "bar.sync 0;\n";
const std::string kFence = "fence.proxy.async.shared::cta;\n";
const std::string kRead =
    "xor.b32 %r4, %r4, 256;\nadd.s32 %r12, %r4, %r10;\nld.shared.u64 %d5, [%r12];\nst.global.u64 "
    "[%d2], %d5;\n";
const std::string kBulk =
    "setp.eq.u32 %p6, %r0, 0;\nmov.u32 %r13, 512;\n"
    "@%p6 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10], %r13;\n@%p6 "
    "cp.async.bulk.commit_group;\n";
const std::string kBulkWait = "@%p6 cp.async.bulk.wait_group.read 0;\n";
const std::string kBarrier =
    "mov.u32 %r20, fixed+2048;\nmov.u32 %r21, 1;\nsetp.eq.u32 %p6, %r0, 0;\nmov.u32 %r13, 512;\n"
    "@%p6 mbarrier.init.shared::cta.b64 [%r20], %r21;\nbar.sync 0;\n";
const std::string kLoad =
    "@%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], %r13;\n"
    "@%p6 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%d1], %r13, "
    "[%r20];\n";
const std::string kWait =
    "{\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p7, [%r20], 0;\n@!%p7 bra WAIT;\n}\n";

/// Two warps with a judge; each reads the other's half (kRead).
Lab judged() {
  Lab lab;
  lab.shape.block[0] = 64;
  lab.options.judge = true;
  lab.fill([](size_t i) { return i; });
  return lab;
}

}  // namespace

TEST_CASE("judge: threads that write and read need a barrier between them") {
  Lab lab = judged();
  CHECK(lab.fault(kStore + kSync + kRead).empty());
  lab.options.strict_reads = false;
  CHECK(says(lab.fault(kStore + kRead), "race: "));
  CHECK(says(lab.fault(kStore + kSync + kRead + "st.shared.u64 [%r11], %d4;"), "race: "));
  CHECK(lab.fault(kStore + kSync + kRead + kSync + "st.shared.u64 [%r11], %d4;").empty());
  CHECK(says(lab.fault(kStore + "st.shared.u64 [%r10], %d4;"),
             "write is not ordered after an earlier write"));
}

TEST_CASE("judge: the async proxy may read only fenced writes of threads") {
  Lab lab = judged();
  // The writers fence before the barrier, or the thread that begins the copy does so after it.
  CHECK(lab.fault(kStore + kFence + kSync + kBulk + kBulkWait).empty());
  CHECK(lab.fault(kStore + kSync + kFence + kBulk + kBulkWait).empty());
  CHECK(says(lab.fault(kStore + kSync + kBulk), "no fence.proxy.async"));
  CHECK(says(lab.fault(kFence + kStore + kSync + kBulk), "no fence.proxy.async"));
  lab.options.strict_reads = false;
  CHECK(says(lab.fault(kStore + kFence + kBulk), "race: "));
}

TEST_CASE("judge: the source of a bulk store may be overwritten only after its wait") {
  Lab lab = judged();
  const std::string begin = kStore + kFence + kSync + kBulk,
                    end = kSync + "st.shared.u64 [%r11], %d4;";
  CHECK(lab.fault(begin + kBulkWait + end).empty());
  CHECK(says(lab.fault(begin + end), "write is not ordered after an earlier read"));
}

TEST_CASE("judge: loaded bytes may be read only after the load's mbarrier") {
  Lab lab = judged();
  const std::string begin = "mov.u32 %r10, fixed;\nshl.b32 %r4, %r0, 3;\n" + kBarrier + kLoad;
  CHECK(lab.fault(begin + kWait + kRead).empty());
  lab.options.strict_reads = false;
  CHECK(says(lab.fault(begin + kRead), "race: "));
  // A load overwrites bytes that threads may still read.
  const std::string again = "mov.u32 %r10, fixed;\n" + kBarrier + kStore + kFence;
  CHECK(lab.fault(again + kSync + kRead + kSync + kLoad + kWait).empty());
  CHECK(says(lab.fault(again + kSync + kRead + kLoad + kWait), "race: "));
}

TEST_CASE("history: at least the latest 48 reads of a byte are kept, and not many more") {
  ptx_machine::History history;
  history.begin_launch(false, nullptr);
  constexpr uint64_t kAddress = 4096 * 7 + 100;
  for (uint32_t agent = 1; agent <= 500; ++agent) {
    ptx_machine::GlobalAccess access;
    access.launch = history.launch();
    access.agent = agent;
    history.record_read(kAddress, 4, history.add(access));
    uint32_t expected = agent, count = 0;
    history.each_run(kAddress, 4, [&](const ptx_machine::History::Run& run) {
      CHECK(run.bytes == 4);
      history.each_read(run.reads, [&](const ptx_machine::GlobalAccess& read) {
        CHECK(read.agent == expected--);
        ++count;
        return true;
      });
    });
    CHECK(count >= std::min(agent, 48u));
    CHECK(count <= 96);
  }
}
