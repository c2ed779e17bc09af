// SPDX-License-Identifier: Apache-2.0
#pragma once
// The linker: a kernel and the functions that it calls become one array of instructions.
//
// Each function occurs once, with registers of its own, so recursion is not supported. A call
// copies the arguments, writes the return address to the callee's return register and jumps.

#include <string>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

struct Warp;
/// A handler: executes an instruction for the lanes of Warp::mask.
using Run = void (*)(Warp&, const Instruction&);

struct Step {
  Run run;
  const Instruction* instruction;
};

/// Functions' parameters begin at this offset of the param space; the kernel's are below.
inline constexpr uint64_t kCallSpace = uint64_t{1} << 20;
/// As on sm_90, the system reserves the shared memory below this offset.
inline constexpr uint32_t kSharedBegin = 1024;

struct CallCopy {
  uint64_t from, to;
  uint32_t bytes;
};
struct LinkedCall {
  uint32_t target = 0;
  uint32_t return_slot = 0;
  std::vector<CallCopy> arguments, results;
};

struct Image {
  const Module* module = nullptr;
  const Function* entry = nullptr;
  std::vector<Instruction> code;
  std::vector<Step> steps;
  std::vector<Operand> lists;
  std::vector<std::vector<uint32_t>> tables;
  std::vector<LinkedCall> calls;
  uint32_t register_bytes = 0;
  uint32_t scratch = 0;  // slot that discarded results (_) are written to
  uint32_t predicates = 0;
  uint32_t static_shared_end = kSharedBegin;
  uint32_t dynamic_shared = kSharedBegin;  // offset of dynamic shared memory
  uint32_t local_bytes = 0;
  uint32_t call_bytes = 0;
  /// For each 32-bit register its accumulator number, from 1 on, or 0 (accumulators.hpp).
  std::vector<uint32_t> accumulators;
  uint32_t accumulator_count = 0;
  std::vector<Run> watched;               // original handlers of the steps that touch accumulators
  mutable std::vector<uint8_t> executed;  // per instruction; empty unless record_waits() is called
};

/// Returns the handler of an instruction, or nullptr if there is none.
using FindHandler = Run (*)(const Instruction& instruction);

/// Throws Error if the kernel, a callee or a handler is missing. The module must outlive the image.
Image link(const Module& module, const std::string& kernel, FindHandler find);

}  // namespace tw::ptx_machine
