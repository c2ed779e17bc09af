// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lexer: splits PTX text into names, numbers and punctuation.

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

class Scanner {
 public:
  Scanner(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  /// Skips blanks and comments and returns the next character without taking it; '\0' at the end.
  char peek();
  bool at_end() { return peek() == '\0'; }
  /// Takes `sign` if it is next; returns whether it was.
  bool take(char sign);
  void expect(char sign);
  bool take_word(std::string_view word);
  /// Takes a name: letters, digits, _, $, %; dots too if it begins with %. Empty if none is next.
  std::string_view name();
  std::string_view expect_name();
  /// Takes an opcode with its modifiers, or a directive.
  std::string_view spelling();
  /// Takes a signed integer, decimal or hexadecimal.
  int64_t integer();
  /// Takes an integer, or the bits of a float (0fXXXXXXXX) or double (0dXXXXXXXXXXXXXXXX).
  /// *floating_bytes is 0, 4 or 8.
  int64_t number(int* floating_bytes);
  bool number_is_next();
  /// Skips everything up to and including `sign`.
  void skip_past(char sign);
  void skip_line();
  /// Takes a string in double quotes.
  std::string text();

  /// Marks the statement that line() and fail() refer to from here on.
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
