// SPDX-License-Identifier: Apache-2.0
// The C++ classes over one of two copies in a program; TWICE names its function. Both copies have
// inline functions of the same names; a linker that considers them equal keeps only one.
#include <cstdio>
#include <string>
#include <tilewright/tilewright.hpp>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

extern "C" int TWICE() {
  // The message contains the place of the error, and the two copies fail at different places.
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
