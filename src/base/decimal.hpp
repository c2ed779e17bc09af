// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers with a point as text. printf writes the process's locale's point, which may be a comma: a
// text that is read back, or a picture, must not depend on what the caller's program has set.

#include <charconv>
#include <cstddef>

namespace tw {

class Decimal {
 public:
  /// With so many places behind the point.
  Decimal(double value, int places) { write(value, std::chars_format::fixed, places); }
  /// With so many significant digits, and none that are not needed.
  static Decimal shortest(double value, int digits) {
    Decimal out;
    out.write(value, std::chars_format::general, digits);
    return out;
  }
  const char* text() const { return text_; }

 private:
  Decimal() = default;
  void write(double value, std::chars_format format, int digits) {
    char* const end = text_ + sizeof text_ - 1;
    auto written = std::to_chars(text_, end, value, format, digits);
    // Some hundreds of digits do not fit; seventeen say all that a double holds.
    if (written.ec != std::errc())
      written = std::to_chars(text_, end, value, std::chars_format::scientific, 16);
    *written.ptr = '\0';
  }
  char text_[32];
};

}  // namespace tw
