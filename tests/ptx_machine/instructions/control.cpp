// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/control.hpp"

#include <cstring>

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {
namespace {

void bra(Warp& w, const Instruction& in) {
  w.jump(in.target, w.mask);
}

void brx(Warp& w, const Instruction& in) {
  const std::vector<uint32_t>& table = w.image->tables[in.target];
  const uint32_t* index = source<uint32_t>(w, in.operand[0]);
  uint32_t left = w.mask;
  while (left != 0) {
    const uint32_t entry = index[first_lane(left)];
    if (entry >= table.size()) w.fail("outside the table of labels: " + std::to_string(entry));
    uint32_t same = 0;
    each_lane(left, [&](uint32_t i) { same |= static_cast<uint32_t>(index[i] == entry) << i; });
    left &= ~same;
    // The last jump takes the group's remaining lanes, so the group itself moves.
    w.jump(table[entry], same);
  }
}

void copy_call_bytes(Warp& w, const std::vector<CallCopy>& copies) {
  each_lane(w.mask, [&](uint32_t i) {
    uint8_t* own = &w.call_space[size_t{i} * w.image->call_bytes];
    for (const CallCopy& copy : copies) std::memcpy(own + copy.to, own + copy.from, copy.bytes);
  });
}

void call(Warp& w, const Instruction& in) {
  const LinkedCall& call = w.image->calls[in.target];
  copy_call_bytes(w, call.arguments);
  uint32_t* back = reinterpret_cast<uint32_t*>(w.registers + call.return_slot);
  // The call itself, not the next instruction: ret needs its number to copy the results.
  each_lane(w.mask, [&](uint32_t i) { back[i] = w.pc - 1; });
  w.jump(call.target, w.mask);
}

// The machine's own registers are unlimited. Warp::exit() checks the CTA's total at its end.
void set_registers(Warp& w, const Instruction& in) {
  w.thread_registers = source<uint32_t>(w, in.operand[0])[first_lane(w.mask)];
}

void ret(Warp& w, const Instruction& in) {
  if (in.number == 0) return w.exit(w.mask);
  const uint32_t* back = reinterpret_cast<const uint32_t*>(w.registers + in.target);
  uint32_t left = w.mask;
  while (left != 0) {
    const uint32_t from = back[first_lane(left)];
    uint32_t same = 0;
    each_lane(left, [&](uint32_t i) { same |= static_cast<uint32_t>(back[i] == from) << i; });
    left &= ~same;
    w.mask = same;
    copy_call_bytes(w, w.image->calls[w.image->code[from].target].results);
    w.jump(from + 1, same);
  }
}

void exit(Warp& w, const Instruction&) {
  w.exit(w.mask);
}

void trap(Warp& w, const Instruction&) {
  w.fail("trap");
}

void predecessors(Warp& w, const Instruction&) {
  if (w.judge()) w.judge()->predecessors_ended(w);
}

void nothing(Warp&, const Instruction&) {}

}  // namespace

Run control_handler(const Instruction& in) {
  switch (in.op) {
    case Op::bra:
      return bra;
    case Op::brx:
      return brx;
    case Op::call:
      return call;
    case Op::ret:
      return ret;
    case Op::exit:
      return exit;
    case Op::trap:
      return trap;
    // Launches do not overlap, so there is nothing to wait for; only the judge needs to know.
    case Op::griddepcontrol_wait:
      return predecessors;
    case Op::setmaxnreg:
      return set_registers;
    case Op::griddepcontrol_launch:
      return nothing;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
