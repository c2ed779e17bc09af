// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel with the functions that it calls, as one array of instructions.
//
// Each function is there once, with registers of its own: none of ours is recursive. A call copies
// the arguments, writes where to go on into the callee's return register and jumps.

#include <string>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

struct Warp;
/// Executes an instruction for the lanes of Warp::mask.
using Run = void (*)(Warp&, const Instruction&);

struct Step {
  Run run;
  const Instruction* instruction;
};

/// Where the spaces of a thread begin in its address spaces of parameters and of shared memory.
inline constexpr uint64_t kCallSpace = uint64_t{1} << 20;  // parameters of functions
inline constexpr uint32_t kSharedBegin = 1024;             // as on sm_90: the system's are below

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
  uint32_t scratch = 0;  // registers whose values nobody reads
  uint32_t predicates = 0;
  uint32_t static_shared_end = kSharedBegin;
  uint32_t dynamic_shared = kSharedBegin;  // where dynamic shared memory begins
  uint32_t local_bytes = 0;
  uint32_t call_bytes = 0;
  /// Registers that wgmma adds into, by place: their number, from 1 on (accumulators.hpp).
  std::vector<uint32_t> accumulators;
  uint32_t accumulator_count = 0;
  std::vector<Run> watched;               // what the steps that touch them run then
  mutable std::vector<uint8_t> executed;  // by instruction, where record_waits() asks for it
};

/// Which code executes an instruction; nullptr where there is none.
using FindHandler = Run (*)(const Instruction& instruction);

/// Throws Error where the kernel, a callee or the code of an instruction is missing. The module has
/// to outlive the image.
Image link(const Module& module, const std::string& kernel, FindHandler find);

}  // namespace tw::ptx_machine
