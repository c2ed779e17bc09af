// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses a function body: instructions with their operands, labels and nested { } blocks.

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

/// Offset in Module::constants of each constant, keyed by its bits and its size in bytes.
using Constants = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;
using SpellingCache = std::unordered_map<std::string_view, Spelling>;

class Body {
 public:
  Body(Scanner* scanner, Module* module, Function* function, Constants* constants,
       SpellingCache* spellings);

  /// Number of open blocks; 0 once the function has ended.
  size_t depth() const { return scopes_.depth(); }
  /// Reads an instruction, a label, or a brace.
  void read_statement();
  /// Reads the rest of a .reg directive.
  void read_registers();
  void add_symbol(Symbol symbol);
  /// Reads the rest of a .loc directive: the source line of the instructions that follow.
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
  // The scopes' keys point into these strings. A deque never moves them; Function::symbols does.
  std::deque<std::string> symbol_names_;
  Scopes scopes_;
  uint32_t source_line_ = 0;
  uint16_t source_file_ = 0;
};

/// Finds a special register by its name; returns false if there is none.
bool find_special(std::string_view name, Special* out);

}  // namespace tw::ptx_machine
