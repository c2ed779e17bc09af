// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a PTX module as words, numbers and signs.

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

class Scanner {
 public:
  Scanner(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  /// The next sign or the first of the next word; '\0' at the end. Skips blanks and comments.
  char peek();
  bool at_end() { return peek() == '\0'; }
  /// Takes `sign` where it is next.
  bool take(char sign);
  void expect(char sign);
  bool take_word(std::string_view word);
  /// A name: letters, digits, _, $, % and dots in front; empty where none is next.
  std::string_view name();
  std::string_view expect_name();
  /// An opcode with its modifiers, or a directive.
  std::string_view spelling();
  /// A whole number with a sign, in decimal or hexadecimal.
  int64_t integer();
  /// The same, or 0fXXXXXXXX or 0dXXXXXXXXXXXXXXXX; `floating` tells which.
  int64_t number(int* floating_bytes);
  bool number_is_next();
  /// Everything up to `sign`, which is taken too.
  void skip_past(char sign);
  /// Everything up to the end of the line.
  void skip_line();
  /// A text in double quotes.
  std::string text();

  /// What fail() shows from here on.
  void begin_statement();
  uint32_t line() const { return statement_line_; }
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  char at(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t statement_ = 0;
  uint32_t statement_line_ = 1;
};

}  // namespace tw::ptx_machine
