// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pairs of small programs: a good one, which must pass without a report in any order of events, and
// bad ones, which lack a wait or a fence and must be reported.

#include <initializer_list>
#include <set>
#include <string>

#include "tests/ptx_machine/test/lab.hpp"

namespace tw::test {

/// Warps per CTA, CTAs, and CTAs per cluster.
struct Extent {
  uint32_t warps = 2, ctas = 1, cluster = 1;
};

/// A launch of a series; `programmatic`: a dependent launch.
struct Step {
  std::string body;
  bool programmatic = false;
};

/// The last program's reports of severity `letter`.
inline std::set<std::string>& letters() {
  static std::set<std::string> out;
  return out;
}

/// Runs launches one after the other. Returns the first error, or an empty string.
inline std::string reported(const Extent& extent, const std::vector<Step>& steps, bool late,
                            uint64_t seed) {
  letters().clear();
  ptx_machine::History history;
  Lab lab;
  lab.shape.block[0] = extent.warps * 32;
  lab.shape.grid[0] = extent.ctas;
  lab.shape.cluster[0] = extent.cluster;
  lab.options.judge = true;
  lab.options.strict_reads = false;
  lab.options.late = late;
  lab.options.seed = seed;
  lab.options.letters = &letters();
  lab.options.history = &history;
  lab.fill([](size_t i) { return i; });
  for (const Step& step : steps) {
    history.begin_launch(step.programmatic, nullptr);
    const std::string said = lab.fault(step.body);
    if (!said.empty()) return said;
  }
  return {};
}

/// Expects no error, in several orders of events.
inline void good_launches(const Extent& extent, const std::vector<Step>& steps) {
  for (const bool late : {false, true})
    for (const uint64_t seed : {0, 1, 2}) {
      INFO(steps.back().body);
      CHECK(reported(extent, steps, late, seed) == "");
    }
}
inline void good(const Extent& extent, const std::string& body) {
  good_launches(extent, {{body}});
}

/// Expects an error with these words, and any error if asynchronous work is done late.
inline void bad_launches(const Extent& extent, const std::vector<Step>& steps,
                         const std::string& words) {
  const std::string said = reported(extent, steps, false, 0);
  INFO(steps.back().body);
  INFO(said);
  CHECK(says(said, words));
  CHECK(reported(extent, steps, true, 0) != "");
}
inline void bad(const Extent& extent, const std::string& body, const std::string& words) {
  bad_launches(extent, {{body}}, words);
}

// Parts of programs. %r10 is shared memory, %r11 the thread's eight bytes there, %r12 those of the
// same lane in the other warp. %p1 holds in thread 0, %p2 in warp 0.
inline const std::string kPlaces =
    "mov.u32 %r10, fixed;\nshl.b32 %r4, %r0, 3;\nadd.s32 %r11, %r4, %r10;\nxor.b32 %r5, %r4, 256;\n"
    "add.s32 %r12, %r5, %r10;\nsetp.eq.u32 %p1, %r0, 0;\nsetp.lt.u32 %p2, %r0, 32;\n";
inline const std::string kStore = "st.shared.u64 [%r11], %d4;\n";
inline const std::string kLoadOther = "ld.shared.u64 %d5, [%r12];\n";
inline const std::string kSync = "bar.sync 0;\n";
inline const std::string kFence = "fence.proxy.async.shared::cta;\n";
/// Initializes an mbarrier at %r20 with `count` arrivals.
inline std::string init(uint32_t count) {
  return "mov.u32 %r20, fixed+2048;\nmov.u32 %r21, " + std::to_string(count) +
         ";\n@%p1 mbarrier.init.shared::cta.b64 [%r20], %r21;\n";
}
inline std::string await(const std::string& name = "WAIT", uint32_t parity = 0) {
  return "{\n" + name + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p7, [%r20], " +
         std::to_string(parity) + ";\n@!%p7 bra " + name + ";\n}\n";
}
inline std::string expect(uint32_t bytes) {
  return "mov.u32 %r22, " + std::to_string(bytes) +
         ";\n@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], %r22;\n";
}
/// Thread 0 bulk-loads bytes of the input to shared memory; bulk_store() stores to the output.
inline std::string bulk_load(uint32_t bytes) {
  return "mov.u32 %r23, " + std::to_string(bytes) +
         ";\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%d1], "
         "%r23, [%r20];\n";
}
inline std::string bulk_store(uint32_t bytes = 512) {
  return "mov.u32 %r23, " + std::to_string(bytes) +
         ";\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r10], %r23;\n";
}
inline const std::string kCommit = "@%p1 cp.async.bulk.commit_group;\n";
inline const std::string kBulkWait = "@%p1 cp.async.bulk.wait_group 0;\n";
inline const std::string kBulkWaitRead = "@%p1 cp.async.bulk.wait_group.read 0;\n";

}  // namespace tw::test
