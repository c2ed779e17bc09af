// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses and formats layouts; parse(format(x)) gives x.
//
//   layout := [swizzle "o" [integer "o"] | integer "o" | tuple "o"] shape [":" stride]
//   shape  := integer | "(" [shape {"," shape}] ")"
//   stride := sum | "(" [stride {"," stride}] ")"
//   sum    := term {"+" term}          term := integer {"@" index}
//   swizzle := "Sw<" B "," M "," S ">"
//
// Spaces are allowed between tokens. A shape alone means the compact column-major layout. CuTe's
// spellings `_4` for 4 and `S<` for `Sw<` are accepted, too.

#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// A text buffer on the stack that is large enough for every layout.
class Text {
 public:
  std::string_view view() const { return {buffer_, length_}; }
  void put(char c) {
    if (length_ < sizeof buffer_) buffer_[length_++] = c;
  }
  void put(std::string_view text) {
    for (char c : text) put(c);
  }
  void put(int64_t number);

 private:
  size_t length_ = 0;
  char buffer_[8192];
};

void format(const IntTuple& tuple, Text* out);  ///< writes kFree as `_`
void format(const BitSwizzle& swizzle, Text* out);
void format(const Layout& layout, Text* out);

/// The error message says at which character parsing failed and what was expected there.
Status parse(std::string_view text, Layout* out);
Status parse(std::string_view text, BitSwizzle* out);
/// Parses a tuple of integers. `allow_underscore`: a leaf may be `_`.
Status parse(std::string_view text, bool allow_underscore, IntTuple* out);

}  // namespace tw
