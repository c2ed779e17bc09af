// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/scopes.hpp"

#include <algorithm>

namespace tw::ptx_machine {

namespace {

constexpr uint32_t kLanes = 32;

/// Splits %r12 into %r and 12. Returns false if the name does not end with a digit.
bool split_number(std::string_view name, std::string_view* prefix, uint32_t* number) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits == name.size()) return false;
  *prefix = name.substr(0, digits);
  *number = 0;
  for (const char c : name.substr(digits)) *number = *number * 10 + static_cast<uint32_t>(c - '0');
  return true;
}

}  // namespace

void Scopes::open() {
  scopes_.emplace_back();
  scopes_.back().register_bytes = register_bytes_;
  scopes_.back().predicates = predicates_;
}

std::string_view Scopes::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  register_bytes_ = scope.register_bytes;
  predicates_ = scope.predicates;
  for (const auto& [name, instruction] : scope.table_uses) {
    const auto found = scope.tables.find(name);
    if (found != scope.tables.end())
      function_->code[instruction].target = found->second;
    else if (scopes_.empty())
      return name;
    else
      top().table_uses.emplace_back(name, instruction);
  }
  for (const Fixup& fixup : scope.fixups) {
    const auto found = scope.labels.find(fixup.label);
    if (found == scope.labels.end()) {
      if (scopes_.empty()) return fixup.label;
      top().fixups.push_back(fixup);
    } else if (fixup.table >= 0) {
      function_->tables[static_cast<size_t>(fixup.table)][fixup.instruction] = found->second;
    } else {
      function_->code[fixup.instruction].target = found->second;
    }
  }
  return {};
}

bool Scopes::declare(std::string_view name, Type type, uint32_t count, bool numbered) {
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(type));
  if (type == Type::pred) {
    top().registers.push_back({name, 0, predicates_, count, numbered});
    predicates_ += count;
    function_->predicates = std::max(function_->predicates, predicates_);
    return true;
  }
  if (bytes < 2) return false;
  top().registers.push_back({name, bytes, register_bytes_, count, numbered});
  register_bytes_ += count * bytes * kLanes;
  function_->register_bytes = std::max(function_->register_bytes, register_bytes_);
  return true;
}

uint32_t Scopes::find_register(std::string_view name, uint32_t* bytes) const {
  std::string_view prefix;
  uint32_t number = 0;
  const bool numbered = split_number(name, &prefix, &number);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    for (const Registers& registers : scope->registers) {
      const bool same = registers.numbered
                            ? numbered && registers.prefix == prefix && number < registers.count
                            : registers.prefix == name;
      if (!same) continue;
      *bytes = registers.bytes;
      const uint32_t index = registers.numbered ? number : 0;
      return registers.first + index * (registers.bytes == 0 ? 1 : registers.bytes * kLanes);
    }
  return kNoSlot;
}

uint32_t Scopes::find_symbol(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->symbols.find(name);
    if (found != scope->symbols.end()) return found->second;
  }
  return kNoSlot;
}

}  // namespace tw::ptx_machine
