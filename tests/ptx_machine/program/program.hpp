// SPDX-License-Identifier: Apache-2.0
#pragma once
// A parsed PTX module: instructions in flat arrays, registers as offsets into the warp's register
// file, branch targets as instruction numbers. read_module() makes it; link() (machine/image.hpp)
// makes it executable.

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

/// Classes of modifiers. An instruction has at most one modifier of each class.
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

/// A register of 16, 32 or 64 bits is an array of 32 lanes. `slot` is its byte offset in the
/// warp's register file; for a predicate, the index of its 32-bit lane mask.
struct Operand {
  enum class Kind : uint8_t {
    none,
    sink,            // _: the result is discarded
    reg,             // register at `slot`
    predicate,       // predicate `slot`
    constant,        // at offset `slot` of Module::constants; `value` has its bits
    special,         // `slot` is a Special
    symbol,          // value operand: the address of symbol `slot`, plus `value`
    address,         // [register at `slot` + value]; kNoSlot: [value]
    symbol_address,  // [symbol `slot` + value]; link() turns it into `address`
    list,            // `count` operands from Function::lists[slot] on
    map,             // tensor map: lists[slot] is its address, `count` - 1 coordinates follow
  };
  Kind kind = Kind::none;
  uint8_t bytes = 0;  // per lane
  uint8_t count = 0;  // list and map only
  bool negated = false;
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
  uint16_t number = 0;  // the number for # in the pattern
  uint32_t guard = 0;   // a predicate's index
  uint32_t target = 0;  // bra: index of an instruction; brx: of a table; call: of a Call
  uint32_t line = 0;
  uint32_t source_line = 0;  // 0: unknown
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
  uint64_t offset = 0;  // in its space; unused for shared memory, which link() lays out
};

/// `results` and `arguments` are the caller's symbols for the first symbols of the callee.
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
  uint32_t call_bytes = 0;      // parameters and results: its own and those of its calls
  std::vector<Symbol> symbols;  // results, then parameters, then the others
  uint32_t results = 0;
  uint32_t parameters = 0;
  std::vector<Instruction> code;
  std::vector<Operand> lists;
  std::vector<std::vector<uint32_t>> tables;  // branch targets of brx
  std::vector<Call> calls;
};

/// `constants` holds each constant as 32 equal lanes, so that handlers read it like a register.
struct Module {
  std::string name;
  std::vector<Symbol> symbols;  // shared memory; operands refer to them as kModuleSymbol + index
  std::vector<Function> functions;
  std::vector<uint8_t> constants;
  std::vector<std::string> files;  // source files, by the numbers of .file

  const Function* find(const std::string& function) const;
  /// The source of an instruction, as file:line.
  std::string source_of(const Instruction& instruction) const;
};
inline constexpr uint32_t kModuleSymbol = 1u << 30;

/// Any fault: of the PTX text, of the launch parameters, or of the kernel that runs.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tw::ptx_machine
