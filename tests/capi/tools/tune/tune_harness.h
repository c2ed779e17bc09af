/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_TUNE_HARNESS_H
#define TILEWRIGHT_TESTS_TUNE_HARNESS_H
/* What the tests of tilewright-tune's parts share. */

#include "capi/tools/tune/tune.h"
#include "tests/capi/common/plan_harness.h"

static char said_text[1 << 16];

/* What was said since the last call. */
static inline const char *said(void) {
  size_t length = 0;
  if (tune_messages) {
    rewind(tune_messages);
    length = fread(said_text, 1, sizeof said_text - 1, tune_messages);
    fclose(tune_messages);
  }
  said_text[length] = '\0';
  tune_messages = tmpfile();
  CHECK(tune_messages != NULL);
  return said_text;
}

static inline void says_(const char *words, const char *file, int line) {
  const char *const text = said();
  if (!check_(strstr(text, words) != NULL, "says the words", file, line))
    printf("    \"%s\" is not in: %s\n", words, text);
}

/* What was said since the last look has these words. */
#define SAYS(words) says_(words, __FILE__, __LINE__)

/* Shapes of one line each. */
static inline tune_shapes shapes_of(const char *const *lines) {
  tune_shapes shapes = {NULL, 0};
  for (int i = 0; lines[i]; ++i) {
    char where[32];
    snprintf(where, sizeof where, "line %d", i + 1);
    EQUAL(shapes_add(&shapes, where, lines[i]), TUNE_DONE);
  }
  return shapes;
}

/* How many times a text has a word. */
static inline int times(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)) != NULL; text += strlen(word)) ++count;
  return count;
}

#endif
