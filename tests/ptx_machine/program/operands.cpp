// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/operands.hpp"

#include <cstring>

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kLanes = 32;
constexpr size_t kMaxOperands = std::size(Instruction().operand);

struct SpecialName {
  std::string_view name;
  Special special;
};
constexpr SpecialName kSpecials[] = {
#define TW_PTX_SPECIAL(name, spelling) {spelling, Special::name},
#include "tests/ptx_machine/program/specials.inc"
#undef TW_PTX_SPECIAL
};

}  // namespace

bool find_special(std::string_view name, Special* out) {
  for (const SpecialName& row : kSpecials)
    if (row.name == name) {
      *out = row.special;
      return true;
    }
  return false;
}

Body::Body(Scanner* scanner, Module* module, Function* function, Constants* constants,
           SpellingCache* spellings)
    : scanner_(*scanner),
      module_(*module),
      function_(*function),
      constants_(*constants),
      spellings_(*spellings),
      scopes_(function) {
  for (size_t i = 0; i < function_.symbols.size(); ++i) {
    symbol_names_.push_back(function_.symbols[i].name);
    scopes_.top().symbols.emplace(symbol_names_.back(), static_cast<uint32_t>(i));
  }
}

void Body::add_symbol(Symbol symbol) {
  const uint32_t number = static_cast<uint32_t>(function_.symbols.size());
  function_.symbols.push_back(std::move(symbol));
  symbol_names_.push_back(function_.symbols.back().name);
  scopes_.top().symbols[symbol_names_.back()] = number;
}

void Body::read_registers() {
  const std::string_view word = scanner_.spelling();
  const Type type = word.empty() ? Type::none : find_type(word.substr(1));
  do {
    const std::string_view name = scanner_.expect_name();
    const bool numbered = scanner_.take('<');
    const uint32_t count = numbered ? static_cast<uint32_t>(scanner_.integer()) : 1;
    if (numbered) scanner_.expect('>');
    if (!scopes_.declare(name, type, count, numbered))
      scanner_.fail("registers cannot have this type");
  } while (scanner_.take(','));
}

void Body::read_statement() {
  if (scanner_.take(';')) return;
  if (scanner_.take('{')) return scopes_.open();
  if (scanner_.take('}')) {
    const std::string_view missing = scopes_.close();
    if (!missing.empty()) scanner_.fail("undefined label " + std::string(missing));
    return;
  }
  Instruction instruction;
  instruction.line = scanner_.line();
  instruction.source_line = source_line_;
  instruction.source_file = source_file_;
  if (scanner_.take('@')) read_guard(&instruction);
  const std::string_view spelling = scanner_.spelling();
  if (spelling.empty()) scanner_.fail("an instruction expected");
  if (!instruction.guarded && scanner_.take(':')) return read_label(spelling);
  read_instruction(spelling, &instruction);
}

void Body::read_source_line() {
  source_file_ = static_cast<uint16_t>(scanner_.integer());
  source_line_ = static_cast<uint32_t>(scanner_.integer());
  scanner_.skip_line();
}

void Body::read_label(std::string_view label) {
  if (scanner_.take_word(".branchtargets")) return read_targets(label);
  const uint32_t next = static_cast<uint32_t>(function_.code.size());
  if (!scopes_.top().labels.emplace(label, next).second)
    scanner_.fail("the label is defined twice");
}

void Body::read_targets(std::string_view table) {
  const int32_t number = static_cast<int32_t>(function_.tables.size());
  scopes_.top().tables.emplace(table, static_cast<uint32_t>(number));
  function_.tables.emplace_back();
  do {
    const uint32_t entry = static_cast<uint32_t>(function_.tables.back().size());
    scopes_.top().fixups.push_back({scanner_.expect_name(), entry, number, scanner_.line()});
    function_.tables.back().push_back(0);
  } while (scanner_.take(','));
  scanner_.expect(';');
}

void Body::read_guard(Instruction* instruction) {
  const Operand predicate = read_predicate(true);
  if (predicate.kind != Operand::Kind::predicate) scanner_.fail("a predicate expected");
  instruction->guarded = true;
  instruction->guard = predicate.slot;
  instruction->guard_negated = predicate.negated;
}

void Body::read_instruction(std::string_view spelling, Instruction* instruction) {
  auto cached = spellings_.find(spelling);
  if (cached == spellings_.end()) {
    Spelling found;
    if (!match_opcode(spelling, &found))
      scanner_.fail("unknown instruction " + std::string(spelling));
    cached = spellings_.emplace(spelling, found).first;
  }
  const Spelling& said = cached->second;
  instruction->op = said.opcode->op;
  instruction->number = said.number;
  std::memcpy(instruction->types, said.types, sizeof instruction->types);
  std::memcpy(instruction->words, said.words, sizeof instruction->words);
  if (instruction->op == Op::call)
    read_call(instruction);
  else
    read_operands(*said.opcode, instruction);
  if (!scanner_.take(';')) scanner_.fail("';' expected (too many operands?)");
  function_.code.push_back(*instruction);
}

void Body::read_call(Instruction* instruction) {
  Call call;
  const auto read_names = [&](std::vector<uint32_t>* out) {
    while (!scanner_.take(')')) {
      if (!out->empty()) scanner_.expect(',');
      const uint32_t symbol = scopes_.find_symbol(scanner_.expect_name());
      if (symbol == kNoSlot) scanner_.fail("undeclared argument");
      out->push_back(symbol);
    }
  };
  if (scanner_.take('(')) {
    read_names(&call.results);
    scanner_.expect(',');
  }
  call.callee = scanner_.expect_name();
  if (scanner_.take(',')) {
    scanner_.expect('(');
    read_names(&call.arguments);
  }
  instruction->target = static_cast<uint32_t>(function_.calls.size());
  function_.calls.push_back(std::move(call));
}

/// Whether an optional operand is present: a modifier says so, or the statement has more text.
bool Body::read_wanted(std::string_view form, const Instruction& instruction) {
  if (form[0] == 'H') return instruction.has(Class::hint);
  if (form[0] == 'M') return instruction.has(Class::multicast);
  if (form[0] == 'L') return instruction.has(Class::logic);
  return form.back() != '?' || scanner_.peek() != ';';
}

void Body::read_operands(const Opcode& opcode, Instruction* instruction) {
  std::string_view forms = opcode.operands;
  while (!forms.empty()) {
    const size_t end = forms.find(' ');
    std::string_view form = forms.substr(0, end);
    forms = end == std::string_view::npos ? std::string_view() : forms.substr(end + 1);
    if (!read_wanted(form, *instruction)) {
      // Operands that depend on a modifier have a fixed index, so an absent one keeps its place.
      if (form.back() != '?') instruction->operands++;
      continue;
    }
    if (form.back() == '?') form.remove_suffix(1);
    const bool first = form.data() == opcode.operands;
    if (!first && !scanner_.take(',')) scanner_.fail("an operand is missing");
    if (instruction->operands >= kMaxOperands) scanner_.fail("too many operands");
    const size_t at = instruction->operands++;
    instruction->operand[at] = read_operand(form, instruction);
    if (form[0] == 'd' && form[1] == 'P') {
      const Operand predicate = scanner_.take('|') ? read_predicate(false) : Operand();
      instruction->operand[instruction->operands++] = predicate;
    }
  }
}

uint32_t Body::bytes_of(char tag, const Instruction& instruction) const {
  switch (tag) {
    case '1':
    case '2':
    case '3':
    case '4':
      return static_cast<uint32_t>(type_bytes(instruction.types[tag - '1']));
    case 'W':
      return static_cast<uint32_t>(2 * type_bytes(instruction.types[0]));
    case 'h':
      return 2;
    case 'w':
      return 4;
    case 'q':
      return 8;
    default:
      return 0;
  }
}

Operand Body::read_operand(std::string_view form, Instruction* instruction) {
  const char role = form[0];
  const char tag = form.back();
  const uint32_t bytes = bytes_of(tag, *instruction);
  const bool predicate = tag == 'p' || (tag == '1' && instruction->types[0] == Type::pred);
  const uint32_t vector = instruction->word(Class::vector) == Word::v2   ? 2
                          : instruction->word(Class::vector) == Word::v4 ? 4
                                                                         : 1;
  switch (role) {
    case 'm':
      return read_address();
    case 't':
      return read_map();
    case 'x':
      return predicate ? read_predicate(true) : read_move(bytes);
    case 'v':
      return read_list(bytes, false, false, 0);
    case 'V':
      return read_list(bytes, false, false, 0);
    case 'D':
    case 'S':
      if (vector > 1) return read_list(bytes, true, role == 'D', vector);
      return read_value(bytes, true, role == 'D');
    case 'i':
      return constant(static_cast<uint64_t>(scanner_.integer()), 4);
    case 'l':
    case 'b': {
      const std::string_view label = scanner_.expect_name();
      const uint32_t at = static_cast<uint32_t>(function_.code.size());
      if (role == 'l')
        scopes_.top().fixups.push_back({label, at, -1, scanner_.line()});
      else
        scopes_.top().table_uses.emplace_back(label, at);
      return Operand();
    }
    case 'd':
      if (predicate) return read_predicate(false);
      return read_value(bytes, false, true);
    default:
      return predicate ? read_predicate(true) : read_value(bytes, false, false);
  }
}

Operand Body::constant(uint64_t bits, uint32_t bytes) {
  if (bytes < 2) bytes = 2;
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  Operand operand;
  operand.kind = Operand::Kind::constant;
  operand.bytes = static_cast<uint8_t>(bytes);
  operand.value = static_cast<int64_t>(bits);
  const auto [place, added] =
      constants_.emplace(std::pair(bits, bytes), static_cast<uint32_t>(module_.constants.size()));
  operand.slot = place->second;
  if (added)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t byte = 0; byte < bytes; ++byte)
        module_.constants.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
  return operand;
}

Operand Body::read_register(std::string_view name, uint32_t bytes, bool wider) {
  Operand operand;
  uint32_t found = 0;
  operand.kind = Operand::Kind::reg;
  operand.slot = scopes_.find_register(name, &found);
  if (operand.slot == kNoSlot) scanner_.fail("undefined register " + std::string(name));
  if (found != bytes && !(wider && found > bytes))
    scanner_.fail("the size of register " + std::string(name) + " does not match the instruction");
  operand.bytes = static_cast<uint8_t>(found);
  return operand;
}

Operand Body::read_value(uint32_t bytes, bool wider, bool may_sink) {
  if (scanner_.number_is_next()) {
    int floating = 0;
    const int64_t value = scanner_.number(&floating);
    if (may_sink) scanner_.fail("a register expected");
    if (floating != 0 && static_cast<uint32_t>(floating) != bytes)
      scanner_.fail("the size of the constant does not match the instruction");
    return constant(static_cast<uint64_t>(value), bytes);
  }
  const std::string_view name = scanner_.expect_name();
  if (name == "_") {
    if (!may_sink) scanner_.fail("a value expected");
    Operand sink;
    sink.kind = Operand::Kind::sink;
    return sink;
  }
  return read_register(name, bytes, wider);
}

Operand Body::read_predicate(bool may_negate) {
  Operand operand;
  operand.kind = Operand::Kind::predicate;
  operand.negated = may_negate && scanner_.take('!');
  if (may_negate && scanner_.number_is_next()) return constant(scanner_.integer() != 0, 4);
  const std::string_view name = scanner_.expect_name();
  if (name == "_") {
    operand.kind = Operand::Kind::sink;
    return operand;
  }
  uint32_t bytes = 0;
  operand.slot = scopes_.find_register(name, &bytes);
  if (operand.slot == kNoSlot || bytes != 0)
    scanner_.fail("undefined predicate " + std::string(name));
  return operand;
}

/// Reads `wanted` registers of `bytes` each; any number of them if `wanted` is 0.
Operand Body::read_list(uint32_t bytes, bool wider, bool sinks, uint32_t wanted) {
  std::vector<Operand> found;
  scanner_.expect('{');
  do found.push_back(read_value(bytes, wider, sinks));
  while (scanner_.take(','));
  scanner_.expect('}');
  if ((wanted != 0 && found.size() != wanted) || found.size() > 255)
    scanner_.fail("wrong number of registers for the instruction");
  Operand list;
  list.kind = Operand::Kind::list;
  list.bytes = static_cast<uint8_t>(bytes);
  list.count = static_cast<uint8_t>(found.size());
  list.slot = static_cast<uint32_t>(function_.lists.size());
  function_.lists.insert(function_.lists.end(), found.begin(), found.end());
  return list;
}

uint32_t Body::find_symbol(std::string_view name) const {
  const uint32_t own = scopes_.find_symbol(name);
  if (own != kNoSlot) return own;
  for (size_t i = 0; i < module_.symbols.size(); ++i)
    if (module_.symbols[i].name == name) return kModuleSymbol + static_cast<uint32_t>(i);
  return kNoSlot;
}

Operand Body::read_address() {
  scanner_.expect('[');
  Operand address;
  address.kind = Operand::Kind::address;
  address.slot = kNoSlot;
  if (scanner_.number_is_next()) {
    address.value = scanner_.integer();
  } else {
    const std::string_view name = scanner_.expect_name();
    const uint32_t symbol = find_symbol(name);
    if (symbol != kNoSlot) {
      address.kind = Operand::Kind::symbol_address;
      address.slot = symbol;
    } else {
      const Operand base = read_register(name, 4, true);
      address.slot = base.slot;
      address.bytes = base.bytes;
    }
    if (scanner_.take('+') || scanner_.number_is_next()) address.value = scanner_.integer();
  }
  if (scanner_.peek() != ',') scanner_.expect(']');
  return address;
}

Operand Body::read_map() {
  std::vector<Operand> found(1, read_address());
  scanner_.expect(',');
  scanner_.expect('{');
  do found.push_back(read_value(4, false, false));
  while (scanner_.take(','));
  scanner_.expect('}');
  scanner_.expect(']');
  Operand map;
  map.kind = Operand::Kind::map;
  map.count = static_cast<uint8_t>(found.size());
  map.slot = static_cast<uint32_t>(function_.lists.size());
  function_.lists.insert(function_.lists.end(), found.begin(), found.end());
  return map;
}

Operand Body::read_move(uint32_t bytes) {
  if (scanner_.peek() == '{') {
    scanner_.take('{');
    std::vector<Operand> parts;
    std::vector<std::string_view> names;
    do names.push_back(scanner_.expect_name());
    while (scanner_.take(','));
    scanner_.expect('}');
    const uint32_t part = bytes / static_cast<uint32_t>(names.size());
    Operand list;
    list.kind = Operand::Kind::list;
    list.bytes = static_cast<uint8_t>(part);
    list.count = static_cast<uint8_t>(names.size());
    list.slot = static_cast<uint32_t>(function_.lists.size());
    for (const std::string_view name : names) {
      Operand sink;
      sink.kind = Operand::Kind::sink;
      function_.lists.push_back(name == "_" ? sink : read_register(name, part, false));
    }
    return list;
  }
  if (scanner_.number_is_next()) return read_value(bytes, false, false);
  const std::string_view name = scanner_.expect_name();
  Operand operand;
  Special special{};
  if (find_special(name, &special)) {
    operand.kind = Operand::Kind::special;
    operand.slot = static_cast<uint32_t>(special);
    return operand;
  }
  const uint32_t symbol = find_symbol(name);
  if (symbol == kNoSlot) return read_register(name, bytes, false);
  operand.kind = Operand::Kind::symbol;
  operand.slot = symbol;
  if (scanner_.take('+')) operand.value = scanner_.integer();
  return operand;
}

}  // namespace tw::ptx_machine
