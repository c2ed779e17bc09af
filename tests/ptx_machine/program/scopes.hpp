// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names inside a function: registers, variables and labels, block by block.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// A declared register, or as many as `count` says of one prefix.
struct Registers {
  std::string_view prefix;
  uint32_t bytes;  // 0: predicates
  uint32_t first;  // slot
  uint32_t count;
  bool numbered;
};

/// Where a label's instruction goes: into an instruction's target, or into an entry of a table.
struct Fixup {
  std::string_view label;
  uint32_t instruction;
  int32_t table = -1;  // then `instruction` is the number of the entry
  uint32_t line = 0;
};

struct Scope {
  std::vector<Registers> registers;
  std::unordered_map<std::string_view, uint32_t> labels, symbols, tables;
  std::vector<Fixup> fixups;
  std::vector<std::pair<std::string_view, uint32_t>> table_uses;  // name, instruction
  uint32_t register_bytes = 0, predicates = 0;                    // in use when the block began
};

/// Counts the registers of a function; a block gives its own back.
class Scopes {
 public:
  explicit Scopes(Function* function) : function_(function) { open(); }

  void open();
  /// Resolves the labels of the block. What it does not have is left to the block around it; the
  /// name of one that no block has is returned, and empty where all is well.
  std::string_view close();
  size_t depth() const { return scopes_.size(); }
  Scope& top() { return scopes_.back(); }

  /// False where the type is no register's.
  bool declare(std::string_view name, Type type, uint32_t count, bool numbered);
  /// kNoSlot where there is no such register; *bytes is 0 for a predicate.
  uint32_t find_register(std::string_view name, uint32_t* bytes) const;
  /// The number of a symbol of the function; kNoSlot where there is none.
  uint32_t find_symbol(std::string_view name) const;

 private:
  Function* function_;
  std::vector<Scope> scopes_;
  uint32_t register_bytes_ = 0, predicates_ = 0;
};

}  // namespace tw::ptx_machine
