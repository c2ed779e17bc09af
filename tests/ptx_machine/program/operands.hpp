// SPDX-License-Identifier: Apache-2.0
#pragma once
// The statements of a function: instructions with their operands, labels and blocks.

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/ptx_machine/program/opcodes.hpp"
#include "tests/ptx_machine/program/program.hpp"
#include "tests/ptx_machine/program/scan.hpp"
#include "tests/ptx_machine/program/scopes.hpp"

namespace tw::ptx_machine {

/// The places of constants, by their bits and how many bytes of them count.
using Constants = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;
using SpellingCache = std::unordered_map<std::string_view, Spelling>;

class Body {
 public:
  Body(Scanner* scanner, Module* module, Function* function, Constants* constants,
       SpellingCache* spellings);

  /// Blocks that are open; 0 after the function's end.
  size_t depth() const { return scopes_.depth(); }
  /// An instruction, a label, or the begin or the end of a block.
  void read_statement();
  /// What stands behind .reg.
  void read_registers();
  void add_symbol(Symbol symbol);
  /// What stands behind .loc: where the instructions that follow come from.
  void read_source_line();

 private:
  void read_label(std::string_view label);
  void read_targets(std::string_view table);
  void read_instruction(std::string_view spelling, Instruction* instruction);
  void read_operands(const Opcode& opcode, Instruction* instruction);
  void read_guard(Instruction* instruction);
  void read_call(Instruction* instruction);
  bool read_wanted(std::string_view form, const Instruction& instruction);

  Operand read_operand(std::string_view form, Instruction* instruction);
  Operand read_value(uint32_t bytes, bool wider, bool may_sink);
  Operand read_predicate(bool may_negate);
  Operand read_list(uint32_t bytes, bool wider, bool sinks, uint32_t wanted);
  Operand read_address();
  Operand read_map();
  Operand read_move(uint32_t bytes);
  Operand read_register(std::string_view name, uint32_t bytes, bool wider);
  Operand constant(uint64_t bits, uint32_t bytes);
  uint32_t find_symbol(std::string_view name) const;
  uint32_t bytes_of(char tag, const Instruction& instruction) const;

  Scanner& scanner_;
  Module& module_;
  Function& function_;
  Constants& constants_;
  SpellingCache& spellings_;
  std::deque<std::string> symbol_names_;  // the keys of scopes outlive the symbols' moves
  Scopes scopes_;
  uint32_t source_line_ = 0;
  uint16_t source_file_ = 0;
};

/// A special register by its name; false where there is none.
bool find_special(std::string_view name, Special* out);

}  // namespace tw::ptx_machine
