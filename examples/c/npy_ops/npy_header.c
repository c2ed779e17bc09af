/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_header.h"

#include <string.h>

/* The unread rest of the text. */
struct cursor {
  const char* at;
  const char* end;
};

static void skip_space(struct cursor* c) {
  while (c->at < c->end && strchr(" \t\r\n", *c->at) != NULL && *c->at != '\0') c->at++;
}

/* Skips white space and consumes `wanted` if it comes next. */
static int take(struct cursor* c, char wanted) {
  skip_space(c);
  if (c->at == c->end || *c->at != wanted) return 0;
  c->at++;
  return 1;
}

static int take_word(struct cursor* c, const char* word) {
  const size_t length = strlen(word);
  skip_space(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return 0;
  c->at += length;
  return 1;
}

/* Consumes 'text' or "text" with fewer than `capacity` printable bytes. */
static int take_string(struct cursor* c, char* out, size_t capacity) {
  char quote = '\'';
  size_t length = 0;
  if (!take(c, '\'')) {
    if (!take(c, '"')) return 0;
    quote = '"';
  }
  while (c->at < c->end && *c->at != quote) {
    if (*c->at == '\\' || *c->at < ' ' || *c->at > '~' || length + 1 == capacity) return 0;
    out[length++] = *c->at++;
  }
  out[length] = '\0';
  return take(c, quote);
}

static int take_extent(struct cursor* c, int64_t* out) {
  int64_t value = 0;
  skip_space(c);
  if (c->at == c->end || *c->at < '0' || *c->at > '9') return 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    const int digit = *c->at - '0';
    if (value > (INT64_MAX - digit) / 10) return 0;
    value = value * 10 + digit;
  }
  (void)take(c, 'L'); /* Python 2 wrote 10L */
  *out = value;
  return 1;
}

/* Consumes (), (5,) or (2, 3). */
static int take_shape(struct cursor* c, struct npy_header* header) {
  if (!take(c, '(')) return 0;
  header->rank = 0;
  while (!take(c, ')')) {
    if (header->rank == NPY_HEADER_MAX_RANK) return 0;
    if (!take_extent(c, &header->shape[header->rank++])) return 0;
    if (!take(c, ',')) return take(c, ')');
  }
  return 1;
}

const char* npy_header_parse(const char* text, size_t length, struct npy_header* header) {
  struct cursor c = {text, text + length};
  int descr = 0;
  int order = 0;
  int shape = 0;
  memset(header, 0, sizeof(*header));
  if (!take(&c, '{')) return "its header is not a Python dictionary";
  while (!take(&c, '}')) {
    char key[16];
    if (!take_string(&c, key, sizeof(key)) || !take(&c, ':')) return "its header is damaged";
    if (strcmp(key, "descr") == 0) {
      descr = 1;
      skip_space(&c);
      if (c.at < c.end && *c.at == '[') return NULL; /* a record type: descr stays "" */
      if (!take_string(&c, header->descr, sizeof(header->descr))) return "its 'descr' is damaged";
    } else if (strcmp(key, "fortran_order") == 0) {
      order = 1;
      header->fortran = take_word(&c, "True");
      if (!header->fortran && !take_word(&c, "False")) return "its 'fortran_order' is damaged";
    } else if (strcmp(key, "shape") == 0) {
      shape = 1;
      if (!take_shape(&c, header)) return "its 'shape' is damaged";
    } else {
      return "its header has an unknown key";
    }
    if (!take(&c, ',')) {
      if (!take(&c, '}')) return "its header is damaged";
      break;
    }
  }
  if (!descr || !order || !shape) return "its header lacks 'descr', 'fortran_order' or 'shape'";
  return NULL;
}
