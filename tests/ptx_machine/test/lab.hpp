// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs small PTX programs: a kernel whose threads have eight bytes of input and of output each.

#include <cstring>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "tests/ptx_machine/instructions/handlers.hpp"
#include "tests/ptx_machine/machine/launch.hpp"
#include "tests/ptx_machine/program/reader.hpp"

namespace tw::test {

inline constexpr const char* kHead =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 1024 .b8 dynamic[];\n";

/// A kernel with `body`, which may use these registers:
///   %d0, %d1  addresses of the output and the input of thread 0 of CTA 0
///   %d2, %d3  the same for the thread itself
///   %d4       the thread's input; %r1 and %r2: its halves
///   %r0       the thread's index in its CTA; %r31: in the grid
/// `fixed` names 4096 bytes of shared memory.
inline std::string kernel_text(const std::string& body) {
  std::string text = kHead;
  text += R"(.visible .entry test(.param .u64 out, .param .u64 in)
{
.reg .pred %p<8>;
.reg .b16 %h<16>;
.reg .b32 %r<40>;
.reg .f32 %f<40>;
.reg .b64 %d<20>;
.reg .f64 %g<8>;
.shared .align 1024 .b8 fixed[4096];
ld.param.u64 %d0, [out];
ld.param.u64 %d1, [in];
mov.u32 %r0, %tid.x;
mov.u32 %r30, %ctaid.x;
mov.u32 %r31, %ntid.x;
mad.lo.s32 %r31, %r30, %r31, %r0;
mad.wide.u32 %d2, %r31, 8, %d0;
mad.wide.u32 %d3, %r31, 8, %d1;
ld.global.v2.u32 {%r1, %r2}, [%d3];
ld.global.u64 %d4, [%d3];
)";
  text += body;
  text += "\nret;\n}\n";
  return text;
}

struct Lab {
  ptx_machine::Shape shape;
  ptx_machine::Options options{.most_instructions = 10'000'000, .strict_reads = true};
  std::vector<uint64_t> in, out;

  Lab() { resize(); }
  /// Sets each thread's input to of(its index in the grid).
  template <class Of>
  void fill(Of of) {
    resize();
    for (size_t i = 0; i < in.size(); ++i) in[i] = of(i);
  }
  void resize() {
    const size_t threads = size_t{shape.grid[0]} * shape.block[0];
    in.resize(threads);
    out.assign(threads, 0);
  }
  /// Runs kernel_text(body). Throws ptx_machine::Error.
  void run(const std::string& body) { run_text(kernel_text(body)); }
  void run_text(const std::string& text) {
    resize();
    const ptx_machine::Module module = ptx_machine::read_module(text, "test.ptx");
    const ptx_machine::Image image = ptx_machine::link(module, "test", ptx_machine::find_handler);
    ptx_machine::GlobalMemory memory;
    const uint64_t params[2] = {reinterpret_cast<uintptr_t>(out.data()),
                                reinterpret_cast<uintptr_t>(in.data())};
    memory.add(params[0], out.size() * 8);
    memory.add(params[1], in.size() * 8);
    ptx_machine::run_launch(image, memory, shape, params, sizeof params, options);
  }
  /// The machine's error, or an empty string if the program runs.
  std::string fault(const std::string& body) {
    try {
      run(body);
    } catch (const ptx_machine::Error& error) {
      return error.what();
    }
    return {};
  }
};

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tw::test
