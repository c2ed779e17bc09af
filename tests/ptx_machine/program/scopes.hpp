// SPDX-License-Identifier: Apache-2.0
#pragma once
// Name lookup inside a function: registers, variables and labels of nested blocks.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// One declaration: a register, or `count` numbered registers (.reg .b32 %r<count>).
struct Registers {
  std::string_view prefix;
  uint32_t bytes;  // 0: predicates
  uint32_t first;  // slot
  uint32_t count;
  bool numbered;
};

/// A use of a label that is not resolved yet: an instruction's target, or an entry of a table.
struct Fixup {
  std::string_view label;
  uint32_t instruction;
  int32_t table = -1;  // if >= 0, `instruction` is the index in this table
  uint32_t line = 0;
};

struct Scope {
  std::vector<Registers> registers;
  std::unordered_map<std::string_view, uint32_t> labels, symbols, tables;
  std::vector<Fixup> fixups;
  std::vector<std::pair<std::string_view, uint32_t>> table_uses;  // name, instruction
  uint32_t register_bytes = 0, predicates = 0;                    // in use when the block opened
};

/// The open blocks of a function. A block's registers are reused after it closes.
class Scopes {
 public:
  explicit Scopes(Function* function) : function_(function) { open(); }

  void open();
  /// Closes the innermost block and resolves its labels. Unknown labels are left to the enclosing
  /// block. Returns the name of a label that no block defines, else an empty string.
  std::string_view close();
  size_t depth() const { return scopes_.size(); }
  Scope& top() { return scopes_.back(); }

  /// Returns false if registers cannot have this type.
  bool declare(std::string_view name, Type type, uint32_t count, bool numbered);
  /// Returns the slot, or kNoSlot if there is no such register. *bytes is 0 for a predicate.
  uint32_t find_register(std::string_view name, uint32_t* bytes) const;
  /// Returns the index in Function::symbols, or kNoSlot.
  uint32_t find_symbol(std::string_view name) const;

 private:
  Function* function_;
  std::vector<Scope> scopes_;
  uint32_t register_bytes_ = 0, predicates_ = 0;
};

}  // namespace tw::ptx_machine
