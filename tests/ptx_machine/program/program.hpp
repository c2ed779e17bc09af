// SPDX-License-Identifier: Apache-2.0
#pragma once
// A PTX module in the form that the machine runs: flat arrays, registers as places, labels
// resolved.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tw::ptx_machine {

enum class Type : uint8_t {
  none,
#define TW_PTX_TYPE(name, bytes) name,
#include "tests/ptx_machine/program/types.inc"
#undef TW_PTX_TYPE
};

/// Classes of modifiers; an instruction has a word of each or none.
enum class Class : uint8_t {
#define TW_PTX_CLASS(name) name,
#define TW_PTX_WORD(word_class, name, spelling)
#include "tests/ptx_machine/program/words.inc"
#undef TW_PTX_CLASS
#undef TW_PTX_WORD
  count,
};

enum class Word : uint8_t {
  none,
#define TW_PTX_CLASS(name)
#define TW_PTX_WORD(word_class, name, spelling) name,
#include "tests/ptx_machine/program/words.inc"
#undef TW_PTX_CLASS
#undef TW_PTX_WORD
};

enum class Op : uint8_t {
#define TW_PTX_OPCODE(op, mnemonic, pattern, types, operands) op,
#include "tests/ptx_machine/program/opcodes.inc"
#undef TW_PTX_OPCODE
};

enum class Special : uint8_t {
#define TW_PTX_SPECIAL(name, spelling) name,
#include "tests/ptx_machine/program/specials.inc"
#undef TW_PTX_SPECIAL
};

int type_bytes(Type type);
const char* type_name(Type type);

/// A register of 16, 32 or 64 bits has 32 lanes side by side. `slot` is its first byte in the
/// warp's registers; of a predicate the number of its mask.
struct Operand {
  enum class Kind : uint8_t {
    none,
    sink,            // _: what is written is dropped
    reg,             // slot
    predicate,       // slot
    constant,        // slot in Module::constants, and its bits in value
    special,         // slot is a Special
    symbol,          // the address of symbol `slot` plus value
    address,         // register at slot plus value; kNoSlot: value alone
    symbol_address,  // symbol `slot` plus value
    list,            // `count` operands from Function::lists[slot]
    map,             // address with coordinates: lists[slot] is the address, `count` - 1 follow
  };
  Kind kind = Kind::none;
  uint8_t bytes = 0;     // of a lane
  uint8_t count = 0;     // of a list
  bool negated = false;  // of a predicate
  uint32_t slot = 0;
  int64_t value = 0;
};
inline constexpr uint32_t kNoSlot = ~0u;

struct Instruction {
  Op op{};
  uint8_t operands = 0;
  bool guarded = false;
  bool guard_negated = false;
  Type types[4] = {};
  Word words[static_cast<int>(Class::count)] = {};
  uint16_t number = 0;  // where the pattern has a #
  uint32_t guard = 0;   // the predicate
  uint32_t target = 0;  // of a branch: an instruction; brx: a table; call: a call
  uint32_t line = 0;
  uint32_t source_line = 0;  // 0: the PTX does not say
  uint16_t source_file = 0;
  Operand operand[8];

  Word word(Class c) const { return words[static_cast<int>(c)]; }
  bool has(Class c) const { return word(c) != Word::none; }
};

enum class Space : uint8_t { param, shared, local, global, call };

struct Symbol {
  std::string name;
  Space space{};
  uint32_t align = 1;
  uint64_t bytes = 0;   // 0: dynamic shared memory
  uint64_t offset = 0;  // in its space; of shared memory the machine lays it out
};

/// Arguments of a call, by the caller's symbols; the callee's are its first ones, in their order.
struct Call {
  std::string callee;
  std::vector<uint32_t> results, arguments;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  uint32_t line = 0;
  uint32_t max_threads = 0;
  uint32_t register_bytes = 0;
  uint32_t predicates = 0;
  uint32_t param_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t call_bytes = 0;      // of parameters of functions: its own and those of its calls
  std::vector<Symbol> symbols;  // parameters first
  uint32_t results = 0;         // how many of the first symbols are results
  uint32_t parameters = 0;      // and how many after them are parameters
  std::vector<Instruction> code;
  std::vector<Operand> lists;
  std::vector<std::vector<uint32_t>> tables;  // of brx
  std::vector<Call> calls;
};

/// Constants have 32 equal lanes, so that an instruction reads them as it reads registers.
struct Module {
  std::string name;
  std::vector<Symbol> symbols;  // of the module: shared memory; a function's operands name them
                                // by kModuleSymbol + their number
  std::vector<Function> functions;
  std::vector<uint8_t> constants;
  std::vector<std::string> files;  // of sources, by their number

  const Function* find(const std::string& function) const;
  /// Where an instruction comes from, as file:line.
  std::string source_of(const Instruction& instruction) const;
};
inline constexpr uint32_t kModuleSymbol = 1u << 30;

/// What is wrong with a module or with how it is run.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tw::ptx_machine
