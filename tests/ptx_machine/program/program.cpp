// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

int type_bytes(Type type) {
  switch (type) {
#define TW_PTX_TYPE(name, bytes) \
  case Type::name:               \
    return bytes;
#include "tests/ptx_machine/program/types.inc"
#undef TW_PTX_TYPE
    case Type::none:
      break;
  }
  return 0;
}

const char* type_name(Type type) {
  switch (type) {
#define TW_PTX_TYPE(name, bytes) \
  case Type::name:               \
    return #name;
#include "tests/ptx_machine/program/types.inc"
#undef TW_PTX_TYPE
    case Type::none:
      break;
  }
  return "none";
}

const Function* Module::find(const std::string& function) const {
  for (const Function& candidate : functions)
    if (candidate.defined && candidate.name == function) return &candidate;
  return nullptr;
}

std::string Module::source_of(const Instruction& instruction) const {
  const size_t number = instruction.source_file;
  return (number < files.size() ? files[number] : std::string("?")) + ":" +
         std::to_string(instruction.source_line);
}

}  // namespace tw::ptx_machine
