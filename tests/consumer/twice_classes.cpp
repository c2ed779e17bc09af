// SPDX-License-Identifier: Apache-2.0
// The C++ classes over one of two copies in a program: TWICE names its function. Every copy has
// inline functions of the same names, of which a linker keeps one if it takes them for the same.
#include <cstdio>
#include <string>
#include <tilewright/tilewright.hpp>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

extern "C" int TWICE() {
  // The message names the place, and no two copies fail at the same one.
  const std::string text = "(" + std::string(sizeof(TEXT(TWICE)), ' ') + "x";
  try {
    const tilewright::Layout layout(text);
  } catch (const tilewright::Error& error) {
    if (error.status() == TW_ERROR_PARSE && error.what() == std::string(tw_last_error()) &&
        *error.what())
      return 0;
    std::printf("%s: an error of another copy: '%s' instead of '%s'\n", TEXT(TWICE), error.what(),
                tw_last_error());
  }
  return 1;
}
