// SPDX-License-Identifier: Apache-2.0
#include "ops/common/explain_line.hpp"

#include <cstdarg>
#include <cstdio>

namespace tw {

std::string line(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return std::string(text) + "\n";
}

}  // namespace tw
