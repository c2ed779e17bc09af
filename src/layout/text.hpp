// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts as text, both ways: parse(format(x)) is x.
//
//   layout := [swizzle "o" [integer "o"] | integer "o" | tuple "o"] shape [":" stride]
//   shape  := integer | "(" [shape {"," shape}] ")"
//   stride := sum | "(" [stride {"," stride}] ")"
//   sum    := term {"+" term}          term := integer {"@" index}
//   swizzle := "Sw<" B "," M "," S ">"
//
// Spaces may stand anywhere between these. A shape alone means the compact column-major layout.
// Also read: `_4` for 4 and `S<` for `Sw<`, which CuTe's own printers write.

#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// A text under construction on the stack, long enough for every layout.
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

void format(const IntTuple& tuple, Text* out);  ///< kFree is written `_`
void format(const BitSwizzle& swizzle, Text* out);
void format(const Layout& layout, Text* out);

/// The error's message says at which character the text stops making sense and what was expected.
Status parse(std::string_view text, Layout* out);
Status parse(std::string_view text, BitSwizzle* out);
/// A tuple of integers; `_` where `free` allows it.
Status parse(std::string_view text, bool free, IntTuple* out);

}  // namespace tw
