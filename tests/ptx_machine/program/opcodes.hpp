// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matches an instruction's spelling ("ld.global.v4.u32") with an entry of opcodes.inc.

#include <string_view>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

struct Opcode {
  Op op;
  const char* mnemonic;
  const char* pattern;
  const char* types;
  const char* operands;
};

/// A parsed spelling: its entry, types and modifiers, and the number for # in the pattern.
struct Spelling {
  const Opcode* opcode = nullptr;
  Type types[4] = {};
  Word words[static_cast<int>(Class::count)] = {};
  uint16_t number = 0;
};

/// Returns false if no entry matches the spelling.
bool match_opcode(std::string_view spelling, Spelling* out);

/// The opcodes.inc entry of `op`, for messages.
const Opcode& opcode_of(Op op);

Type find_type(std::string_view name);

}  // namespace tw::ptx_machine
