// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parser that layouts, tilers and linear layouts share. Errors name the position in the text.

#include <string_view>

#include "layout/layout.hpp"

namespace tw {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool accept(char c);
  bool accept_word(std::string_view word);
  bool at_end();
  char peek();  ///< skips white space; returns 0 at the end
  size_t position() const { return at_; }
  void back_to(size_t position) { at_ = position; }

  Status expect(char c);
  Status expect_end();
  Status integer(int64_t* out);
  Status index(int* out);
  /// Fails with ERROR_PARSE at the current position.
  Status expected(const char* what);
  /// Fails with ERROR_CAPACITY at the current position.
  Status too_much();
  /// `allow_underscore`: a leaf may be `_`, which becomes kFree.

  Status tuple(bool allow_underscore, IntTuple* out);
  Status swizzle(BitSwizzle* out);
  Status layout(Layout* out);

 private:
  Status tuple_node(bool allow_underscore, int level, int common_level, IntTuple* out);
  Status stride(Stride* out);
  Status strides(const IntTuple& shape, Node node, int level, LayoutBuilder* builder,
                 int common_level);
  /// Reads what may precede the shape: a swizzle, and an offset or origin.
  Status frame(LayoutBuilder* builder, Layout* out);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tw
