// SPDX-License-Identifier: Apache-2.0
// Good and bad programs: wgmma's accumulators and its operands in shared memory.
#include "tests/ptx_machine/test/pairs.hpp"

using namespace tw;
using namespace tw::test;

namespace {

const Extent kGroup{.warps = 4};
/// Each thread writes 16 bytes of A, and the same 2048 bytes further, where B begins.
const std::string kFill =
    "shl.b32 %r6, %r0, 4;\nadd.s32 %r6, %r6, %r10;\nst.shared.v4.u32 [%r6], {%r1, %r1, %r1, %r1};\n"
    "st.shared.v4.u32 [%r6+2048], {%r1, %r1, %r1, %r1};\n";
const std::string kCopy =
    "shl.b32 %r6, %r0, 4;\nadd.s32 %r6, %r6, %r10;\ncp.async.cg.shared.global [%r6], [%d1], 16;\n"
    "cp.async.cg.shared.global [%r6+2048], [%d1], 16;\n";
const std::string kDescriptors =
    "shr.u32 %r7, %r10, 4;\ncvt.u64.u32 %d5, %r7;\nor.b64 %d5, %d5, 0x0000001000080000;\n"
    "add.s64 %d6, %d5, 128;\n";
const std::string kZero =
    "mov.f32 %f3, 0f00000000;\nmov.f32 %f4, 0f00000000;\nmov.f32 %f5, 0f00000000;\n"
    "mov.f32 %f6, 0f00000000;\n";
const std::string kRegisters = "wgmma.fence.sync.aligned;\n";
const std::string kMultiply =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f3, %f4, %f5, %f6}, %d5, %d6, 1, 1, 1, 0, "
    "0;\n";
const std::string kCommitProduct = "wgmma.commit_group.sync.aligned;\n";
const std::string kWaitProduct = "wgmma.wait_group.sync.aligned 0;\n";
const std::string kUse = "st.global.f32 [%d2], %f3;\n";
const std::string kBegin = kPlaces + kDescriptors + kZero;
const std::string kProduct = kRegisters + kMultiply + kCommitProduct;
const std::string kReady = kBegin + kFill + kFence + kSync;

}  // namespace

TEST_CASE("programs: wgmma reads what threads have written and fenced") {
  good(kGroup, kBegin + kFill + kFence + kSync + kProduct + kWaitProduct + kUse);
  bad(kGroup, kBegin + kFill + kSync + kProduct + kWaitProduct + kUse, "no fence.proxy.async");
  bad(kGroup, kBegin + kFill + kFence + kProduct + kWaitProduct + kUse, "race: ");
}

TEST_CASE("programs: wgmma reads what cp.async has brought") {
  const std::string wait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";
  const std::string end = kProduct + kWaitProduct + kUse;
  good(kGroup, kBegin + kCopy + wait + kFence + kSync + end);
  bad(kGroup, kBegin + kCopy + "cp.async.commit_group;\n" + kFence + kSync + end, "race: ");
  bad(kGroup, kBegin + kCopy + wait + kSync + end, "no fence.proxy.async");
  bad(kGroup, kBegin + kCopy + wait + kFence + end, "race: ");
  // The fence precedes the wait, so the bytes may come after it.
  bad(kGroup, kBegin + kCopy + kFence + wait + kSync + end, "no fence.proxy.async");
  // The same through an mbarrier that all threads arrive at.
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r20];\n";
  const std::string begin = kBegin +
                            "mov.u32 %r20, fixed+3584;\nmov.u32 %r21, 128;\n"
                            "@%p1 mbarrier.init.shared::cta.b64 [%r20], %r21;\n" +
                            kSync;
  const std::string copy =
      "shl.b32 %r6, %r0, 4;\nadd.s32 %r6, %r6, %r10;\n"
      "cp.async.cg.shared.global [%r6], [%d1], 16;\n@%p2 cp.async.cg.shared.global [%r6+2048], "
      "[%d1], 16;\n";
  good(kGroup, begin + copy + wait + kFence + arrive + await() + end);
  bad(kGroup, begin + copy + arrive + wait + kFence + await() + end, "race: ");
}

TEST_CASE("programs: the end of a wgmma is not the end of cp.async") {
  const std::string copy =
      "@%p1 cp.async.cg.shared.global [%r10+3584], [%d1], 16;\ncp.async.commit_group;\n";
  const std::string read = "@%p1 ld.shared.u64 %d7, [%r10+3584];\n";
  good(kGroup, kReady + copy + kProduct + kWaitProduct + "cp.async.wait_group 0;\n" + read);
  bad(kGroup, kReady + copy + kProduct + kWaitProduct + read, "race: ");
}

TEST_CASE("programs: registers of wgmma") {
  good(kGroup, kReady + kProduct + kWaitProduct + kUse);
  bad(kGroup, kReady + kProduct + kUse, "wgmma.wait_group would order them");
  bad(kGroup, kReady + kRegisters + kMultiply + kWaitProduct + kUse,
      "wgmma.wait_group would order them");
  bad(kGroup, kReady + kMultiply + kCommitProduct + kWaitProduct + kUse, "wgmma.fence");
  // A newer group may stay pending, but not the group that writes the register.
  const std::string other =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f7, %f8, %f9, %f10}, %d5, %d6, 0, 1, 1, "
      "0, 0;\n" +
      kCommitProduct;
  good(kGroup,
       kReady + kProduct + other + "wgmma.wait_group.sync.aligned 1;\n" + kUse + kWaitProduct);
  bad(kGroup,
      kReady + kProduct + other + "wgmma.wait_group.sync.aligned 1;\nst.global.f32 [%d2], %f8;\n",
      "wgmma.wait_group would order them");
  // A fence must be between a thread's access and the next wgmma.
  const std::string touch = kProduct + kWaitProduct + "add.f32 %f3, %f3, %f3;\n";
  good(kGroup, kReady + touch + kProduct + kWaitProduct);
  bad(kGroup, kReady + touch + kMultiply + kCommitProduct + kWaitProduct, "wgmma.fence");
  // nvcc moves zeros below the fence and ptxas orders them, so this is only a letter.
  good(kGroup, kReady + kRegisters + kZero + kMultiply + kCommitProduct + kWaitProduct + kUse);
  CHECK(letters().size() == 1);
  bad(kGroup, kReady + kZero + kMultiply + kCommitProduct + kWaitProduct + kUse, "wgmma.fence");
  // Two wgmmas with the same accumulators need no fence between them.
  good(kGroup, kReady + kRegisters + kMultiply + kMultiply + kCommitProduct + kWaitProduct + kUse);
}

TEST_CASE("programs: shared memory that wgmma still reads") {
  good(kGroup, kReady + kProduct + kWaitProduct + kSync + kFill);
  bad(kGroup, kReady + kProduct + kSync + kFill + kWaitProduct, "race: ");
}

TEST_CASE("programs: reads by another warp of the warpgroup before a wgmma") {
  // The end of the wgmma orders the read on known hardware, but not in the memory model.
  const std::string read = "ld.shared.u64 %d7, [%r10+3072];\n",
                    write = "@%p1 st.shared.u64 [%r10+3072], %d4;\n";
  good(kGroup, kReady + read + kProduct + kWaitProduct + kSync + write);
  CHECK(letters().empty());
  good(kGroup, kReady + read + kProduct + kWaitProduct + write);
  CHECK(letters().size() == 1);
  bad(kGroup, kReady + kProduct + read + kWaitProduct + write, "race: ");
}

TEST_CASE("programs: wgmma by part of a warp") {
  const std::string half = "setp.lt.u32 %p3, %r0, 16;\n";
  good(kGroup, kReady + half + kProduct + kWaitProduct);
  bad(kGroup, kReady + half + kRegisters + "@%p3 " + kMultiply, "skip it");
  bad(kGroup, kReady + half + "@%p3 " + kRegisters, "skip it");
}
