// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spellings of instructions, held against opcodes.inc.

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

/// What a spelling such as "ld.global.v4.u32" says.
struct Spelling {
  const Opcode* opcode = nullptr;
  Type types[4] = {};
  Word words[static_cast<int>(Class::count)] = {};
  uint16_t number = 0;
};

/// False where no row has such a spelling.
bool match_opcode(std::string_view spelling, Spelling* out);

/// The spelling of an opcode's row, for messages.
const Opcode& opcode_of(Op op);

Type find_type(std::string_view name);

}  // namespace tw::ptx_machine
