// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/opcodes.hpp"

#include <charconv>
#include <vector>

namespace tw::ptx_machine {
namespace {

constexpr Opcode kOpcodes[] = {
#define TW_PTX_OPCODE(op, mnemonic, pattern, types, operands) \
  {Op::op, mnemonic, pattern, types, operands},
#include "tests/ptx_machine/program/opcodes.inc"
#undef TW_PTX_OPCODE
};

constexpr std::string_view kClassNames[] = {
#define TW_PTX_CLASS(name) #name,
#define TW_PTX_WORD(word_class, name, spelling)
#include "tests/ptx_machine/program/words.inc"
#undef TW_PTX_CLASS
#undef TW_PTX_WORD
};

struct WordRow {
  Class word_class;
  Word word;
  std::string_view spelling;
};
constexpr WordRow kWords[] = {
#define TW_PTX_CLASS(name)
#define TW_PTX_WORD(word_class, name, spelling) {Class::word_class, Word::name, spelling},
#include "tests/ptx_machine/program/words.inc"
#undef TW_PTX_CLASS
#undef TW_PTX_WORD
};

/// Removes the text up to the first `separator` from the front of `text` and returns it.
std::string_view take(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view first = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return first;
}

bool contains(std::string_view list, std::string_view item) {
  while (!list.empty())
    if (take(&list, ' ') == item) return true;
  return false;
}

Word find_word(Class word_class, std::string_view spelling) {
  for (const WordRow& row : kWords)
    if (row.word_class == word_class && row.spelling == spelling) return row.word;
  return Word::none;
}

/// Matches a modifier such as m64n256k16 with a form such as m64n#k16.
bool match_number(std::string_view form, std::string_view modifier, uint16_t* number) {
  const size_t at = form.find('#');
  const std::string_view tail = form.substr(at + 1);
  if (at == std::string_view::npos || modifier.substr(0, at) != form.substr(0, at)) return false;
  const char* begin = modifier.data() + at;
  const char* end = modifier.data() + modifier.size();
  const auto parsed = std::from_chars(begin, end, *number);
  return parsed.ec == std::errc() &&
         std::string_view(parsed.ptr, static_cast<size_t>(end - parsed.ptr)) == tail;
}

/// Matches one modifier with one form of a pattern. `types` are the types allowed here.
bool match_form(std::string_view form, std::string_view modifier, std::string_view types,
                Type* type, Spelling* out) {
  if (form == "type") {
    *type = contains(types, modifier) ? find_type(modifier) : Type::none;
    return *type != Type::none;
  }
  for (size_t i = 0; i < std::size(kClassNames); ++i)
    if (form == kClassNames[i]) {
      out->words[i] = find_word(static_cast<Class>(i), modifier);
      return out->words[i] != Word::none;
    }
  return form == modifier || match_number(form, modifier, &out->number);
}

bool match(const Opcode& opcode, std::string_view modifiers, Spelling* out) {
  *out = Spelling();
  out->opcode = &opcode;
  std::string_view forms = opcode.pattern, types = opcode.types;
  int type_count = 0;
  while (!forms.empty()) {
    std::string_view form = take(&forms, ' ');
    const bool optional = form.back() == '?';
    if (optional) form.remove_suffix(1);
    std::string_view rest = modifiers;
    const std::string_view modifier = take(&rest, '.');
    const std::string_view allowed = types.substr(0, types.find(';'));
    Type type = Type::none;
    if (!modifier.empty() && match_form(form, modifier, allowed, &type, out)) {
      modifiers = rest;
      if (type != Type::none) {
        out->types[type_count++] = type;
        take(&types, ';');
      }
    } else if (!optional) {
      return false;
    }
  }
  return modifiers.empty();
}

}  // namespace

Type find_type(std::string_view name) {
#define TW_PTX_TYPE(type, bytes) \
  if (name == #type) return Type::type;
#include "tests/ptx_machine/program/types.inc"
#undef TW_PTX_TYPE
  return Type::none;
}

const Opcode& opcode_of(Op op) {
  return kOpcodes[static_cast<size_t>(op)];
}

bool match_opcode(std::string_view spelling, Spelling* out) {
  const std::string_view mnemonic = take(&spelling, '.');
  for (const Opcode& opcode : kOpcodes)
    if (mnemonic == opcode.mnemonic && match(opcode, spelling, out)) return true;
  return false;
}

}  // namespace tw::ptx_machine
