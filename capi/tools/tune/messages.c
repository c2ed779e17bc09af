/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "tune.h"

FILE* tune_messages;

static FILE* messages(void) {
  return tune_messages ? tune_messages : stderr;
}

void tune_say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(messages(), format, arguments);
  va_end(arguments);
  /* Show each line of a long run at once, also through a pipe. */
  fflush(messages());
}

void tune_complain(const char* where, const char* format, ...) {
  va_list arguments;
  fprintf(messages(), "tilewright-tune: %s: ", where);
  va_start(arguments, format);
  vfprintf(messages(), format, arguments);
  va_end(arguments);
  fputc('\n', messages());
  fflush(messages());
}

const char* tune_reason(tw_status status) {
  tw_error_info info;
  const int known = tw_error_info_init(&info, sizeof info) == TW_OK &&
                    tw_last_error_info(&info) == TW_OK && info.status == status;
  return known ? tw_last_error() : tw_status_text(status);
}
