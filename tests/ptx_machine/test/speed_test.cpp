// SPDX-License-Identifier: Apache-2.0
// Measures the machine's speed on one core, in CPU time: ptx_machine_test -ns -tc='speed*'.
#include <ctime>

#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Figure {
  double instructions = 0, seconds = 0;
};

/// Runs a body with `threads` threads in one CTA.
Figure run(const std::string& body, uint32_t threads, bool judge) {
  const std::string text = kernel_text(body);
  const ptx_machine::Module module = ptx_machine::read_module(text, "speed.ptx");
  const ptx_machine::Image image = ptx_machine::link(module, "test", ptx_machine::find_handler);
  std::vector<uint64_t> in(threads, 0x3c003c003c003c00), out(threads);
  ptx_machine::GlobalMemory memory;
  const uint64_t params[2] = {reinterpret_cast<uintptr_t>(out.data()),
                              reinterpret_cast<uintptr_t>(in.data())};
  memory.add(params[0], out.size() * 8);
  memory.add(params[1], in.size() * 8);
  ptx_machine::Shape shape;
  shape.block[0] = threads;
  ptx_machine::Options options;
  options.judge = options.strict_reads = judge;
  const double begin = cpu_seconds();
  const auto statistics =
      ptx_machine::run_launch(image, memory, shape, params, sizeof params, options);
  return {static_cast<double>(statistics.thread_instructions), cpu_seconds() - begin};
}

std::string loop(uint32_t turns, const std::string& body) {
  return "mov.u32 %r20, 0;\nAGAIN:\n" + body + "add.s32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, " +
         std::to_string(turns) + ";\n@%p1 bra AGAIN;\n";
}

void say(const char* what, double rate) {
  std::printf("%s: %.0f million a second\n", what, rate / 1e6);
}

// A typical mix of our kernels: addresses, predicates, packed halves, loads and stores.
constexpr const char* kMix =
    "mad.lo.s32 %r3, %r0, 3, %r20;\nshl.b32 %r4, %r3, 2;\nand.b32 %r5, %r4, 0x7fc;\n"
    "mov.u32 %r10, fixed;\nadd.s32 %r10, %r10, %r5;\nshl.b32 %r6, %r0, 2;\n"
    "mov.u32 %r11, fixed;\nadd.s32 %r11, %r11, %r6;\n"
    "st.shared.u32 [%r11], %r3;\nld.shared.u32 %r7, [%r11];\n"
    "ld.global.v2.u32 {%r8, %r9}, [%d3];\nst.global.v2.u32 [%d2], {%r7, %r9};\n"
    "fma.rn.f32 %f1, %f1, %f2, %f3;\nadd.f32 %f2, %f2, %f1;\nsetp.gt.s32 %p2, %r3, %r7;\n"
    "selp.b32 %r12, %r3, %r8, %p2;\nxor.b32 %r13, %r12, %r8;\nprmt.b32 %r14, %r12, %r13, 0x5410;\n"
    "cvt.u64.u32 %d8, %r13;\nadd.s64 %d9, %d8, %d0;\n@%p2 add.s32 %r15, %r15, 1;\n"
    "shr.u32 %r16, %r14, 3;\nmul.wide.u32 %d10, %r16, 8;\n";

}  // namespace

TEST_CASE("speed: thread instructions and multiply-adds" * doctest::skip()) {
  for (const bool judge : {false, true}) {
    const Figure mix = run(loop(judge ? 4000 : 20000, kMix), 256, judge);
    say(judge ? "thread instructions, judged" : "thread instructions",
        mix.instructions / mix.seconds);
  }
  // `fixed` is too small for all of B, so a stride of 0 makes B's columns the same 8.
  const std::string begin =
      "mov.u32 %r10, fixed;\nshl.b32 %r4, %r0, 4;\nadd.s32 %r4, %r4, %r10;\n"
      "st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};\n"
      "st.shared.v4.u32 [%r4+2048], {%r2, %r2, %r2, %r2};\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\nshr.u32 %r7, %r10, 4;\ncvt.u64.u32 %d5, %r7;\n"
      "or.b64 %d5, %d5, 0x0000000000080000;\nadd.s64 %d6, %d5, 128;\nwgmma.fence.sync.aligned;\n";
  std::string sums;
  for (int i = 0; i < 32; ++i) sums += (i ? ", %f" : "%f") + std::to_string(i + 4);
  constexpr uint32_t kTurns = 1000;
  const std::string products = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" + sums +
                               "}, %d5, %d6, 1, 1, 1, 0, 0;\n";
  for (const bool judge : {false, true}) {
    const Figure made = run(begin + loop(kTurns, products) +
                                "wgmma.commit_group.sync.aligned;\n"
                                "wgmma.wait_group.sync.aligned 0;\nst.global.f32 [%d2], %f4;",
                            128, judge);
    say(judge ? "multiply-adds of wgmma with f16, judged" : "multiply-adds of wgmma with f16",
        64.0 * 64 * 16 * kTurns / made.seconds);
  }
  const Figure made = run(loop(4000,
                               "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, "
                               "%f6}, {%r1, %r2, %r1, %r2}, {%r1, %r1}, {%f3, %f4, %f5, %f6};\n"),
                          128, false);
  say("multiply-adds of mma.sync with f16", 4 * 16.0 * 8 * 16 * 4000 / made.seconds);
}
