// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/scan.hpp"

namespace tw::ptx_machine {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hexadecimal(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

char Scanner::peek() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
    } else if (c == '/' && at(1) == '/') {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '/' && at(1) == '*') {
      for (at_ += 2; at_ + 1 < text_.size() && !(text_[at_] == '*' && text_[at_ + 1] == '/'); ++at_)
        line_ += text_[at_] == '\n';
      ++at_;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return c;
    }
  }
  return '\0';
}

bool Scanner::take(char sign) {
  if (peek() != sign) return false;
  ++at_;
  return true;
}

bool Scanner::take_word(std::string_view word) {
  peek();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void Scanner::expect(char sign) {
  if (!take(sign)) fail(std::string("'") + sign + "' expected");
}

std::string_view Scanner::name() {
  peek();
  const size_t begin = at_;
  // Only names of special registers, such as %tid.x, contain a dot.
  while (in_name(at(0)) || (at(0) == '.' && at_ > begin && text_[begin] == '%')) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Scanner::expect_name() {
  const std::string_view found = name();
  if (found.empty()) fail("a name expected");
  return found;
}

std::string_view Scanner::spelling() {
  peek();
  const size_t begin = at_;
  while (in_name(at(0)) || at(0) == '.' || (at(0) == ':' && at(1) == ':'))
    at_ += at(0) == ':' ? 2 : 1;
  return text_.substr(begin, at_ - begin);
}

int64_t Scanner::integer() {
  int floating = 0;
  const int64_t value = number(&floating);
  if (floating != 0) fail("a whole number expected");
  return value;
}

bool Scanner::number_is_next() {
  const char c = peek();
  return is_digit(c) || (c == '-' && is_digit(at(1)));
}

int64_t Scanner::number(int* floating_bytes) {
  if (!number_is_next()) fail("a number expected");
  const bool negative = take('-');
  *floating_bytes = 0;
  int base = 10;
  if (at(0) == '0' && (at(1) == 'x' || at(1) == 'X')) base = 16;
  if (at(0) == '0' && (at(1) == 'f' || at(1) == 'F')) base = 16, *floating_bytes = 4;
  if (at(0) == '0' && (at(1) == 'd' || at(1) == 'D')) base = 16, *floating_bytes = 8;
  if (base == 16) at_ += 2;
  uint64_t value = 0;
  for (; base == 16 ? hexadecimal(at(0)) >= 0 : is_digit(at(0)); ++at_)
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(hexadecimal(at(0)));
  if (at(0) == 'U') ++at_;
  if (in_name(at(0))) fail("a number expected");
  return static_cast<int64_t>(negative ? 0 - value : value);
}

void Scanner::skip_past(char sign) {
  while (peek() != sign) {
    if (at_end()) fail(std::string("'") + sign + "' expected");
    ++at_;
  }
  ++at_;
}

void Scanner::skip_line() {
  while (at(0) != '\0' && at(0) != '\n') ++at_;
}

std::string Scanner::text() {
  expect('"');
  const size_t begin = at_;
  while (at(0) != '"') {
    if (at(0) == '\0' || at(0) == '\n') fail("'\"' expected");
    ++at_;
  }
  return std::string(text_.substr(begin, at_++ - begin));
}

void Scanner::begin_statement() {
  peek();
  statement_ = at_;
  statement_line_ = line_;
}

void Scanner::fail(const std::string& reason) const {
  const std::string_view text = text_.substr(statement_, text_.find('\n', statement_) - statement_);
  throw Error(name_ + ":" + std::to_string(statement_line_) + ": " + reason + ": " +
              std::string(text));
}

}  // namespace tw::ptx_machine
