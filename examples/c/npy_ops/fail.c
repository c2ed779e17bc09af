/* SPDX-License-Identifier: Apache-2.0 */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char* format, va_list arguments) {
  fputs("npy_ops: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

int bad_input(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return EXIT_BAD_INPUT;
}

int failed(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return EXIT_FAILED;
}
