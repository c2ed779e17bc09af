// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/device/mutants.hpp"

#include "tests/ptx_machine/instructions/handlers.hpp"
#include "tests/ptx_machine/machine/warp.hpp"

namespace tw::ptx_machine {
namespace {

void nothing(Warp&, const Instruction&) {}

/// Goes on without waiting; the warp's next arrival counts for the next phase.
void passes(Warp& w, const Instruction&) {
  w.cluster_arrived = false;
}

/// Sets the wait's predicate as if the phase had ended.
void ended(Warp& w, const Instruction& in) {
  set_predicate(w, in.operand[0], kAllLanes);
}

void recorded(Warp& w, const Instruction& in) {
  w.image->executed[w.pc - 1] = 1;
  find_handler(in)(w, in);
}

bool waits(Op op) {
  switch (op) {
    case Op::fence_proxy:
    case Op::fence_proxy_shared:
    case Op::fence_proxy_global:
    case Op::fence_proxy_map:
    case Op::fence:
    case Op::fence_mbarrier_init:
    case Op::bar_warp:
    case Op::cluster_wait:
    case Op::griddepcontrol_wait:
    case Op::wgmma_fence:
    case Op::bar_sync:
    case Op::barrier_sync:
    case Op::mbarrier_try_wait:
    case Op::mbarrier_test_wait:
    case Op::cp_async_wait:
    case Op::cp_async_wait_all:
    case Op::bulk_wait:
    case Op::wgmma_wait:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<uint32_t> waits_and_fences(const Image& image) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < image.code.size(); ++i)
    if (waits(image.code[i].op)) out.push_back(i);
  return out;
}

void leave_out(Image* image, uint32_t instruction) {
  const Op op = image->code[instruction].op;
  const bool tells = op == Op::mbarrier_try_wait || op == Op::mbarrier_test_wait;
  image->steps[instruction].run = tells ? ended : op == Op::cluster_wait ? passes : nothing;
}

void record_waits(Image* image) {
  image->executed.assign(image->code.size(), 0);
  for (const uint32_t instruction : waits_and_fences(*image))
    image->steps[instruction].run = recorded;
}

}  // namespace tw::ptx_machine
