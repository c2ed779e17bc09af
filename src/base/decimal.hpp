// SPDX-License-Identifier: Apache-2.0
#pragma once
// Formats floating-point numbers independently of the locale, for texts that are parsed again and
// for pictures. printf would write the decimal separator of the caller's locale.

#include <charconv>
#include <cstddef>

namespace tw {

class Decimal {
 public:
  /// Fixed notation with `places` digits after the point.
  Decimal(double value, int places) { write(value, std::chars_format::fixed, places); }
  /// At most `digits` significant digits, without trailing zeros.
  static Decimal significant(double value, int digits) {
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
    // A large number in fixed notation may not fit; 17 significant digits represent any double.
    if (written.ec != std::errc())
      written = std::to_chars(text_, end, value, std::chars_format::scientific, 16);
    *written.ptr = '\0';
  }
  char text_[32];
};

}  // namespace tw
