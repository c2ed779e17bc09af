/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

const char* number_read(const char* text, int64_t most, int64_t* number) {
  int64_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (value > most / 10) return NULL;
    value = value * 10 + (*at - '0');
  }
  if (at == text || value < 1 || value > most) return NULL;
  *number = value;
  return at;
}

static int is_full(const tune_rows* rows) {
  return rows->count >= MAX_ROWS;
}

static void add(tune_rows* rows, int64_t m) {
  if (!is_full(rows)) rows->m[rows->count++] = m;
}

/* Adds the smallest set of m whose entries serve every number of rows from `first` to `last`. */
static void add_all(tune_rows* rows, int64_t first, int64_t last) {
  for (int64_t m = last; m >= first && !is_full(rows); m = step_served_from(m) - 1) add(rows, m);
}

/* An entry serves no rows above its step of m. So the last m of a range is always measured, even if
 * FIRST and STEP do not reach it. */
static void add_range(tune_rows* rows, int64_t first, int64_t last, int64_t step) {
  for (int64_t m = first; m < last && !is_full(rows); m += step > 0 ? step : m) add(rows, m);
  add(rows, last);
}

static int refuse(char* why, size_t size, const char* item) {
  const int length = (int)strcspn(item, ",");
  snprintf(why, size,
           "\"%.*s\" is no number of rows from 1 to %lld, no range FIRST-LAST (doubling), "
           "FIRST-LAST:STEP or FIRST-LAST:all; lists have commas and no blanks, as in 1,8,64-256",
           length < 60 ? length : 60, item, (long long)TUNE_MAX_EXTENT);
  return -1;
}

/* Reads one item of a list. Returns the rest of the text, or NULL on failure. */
static const char* read_item(const char* text, tune_rows* rows) {
  int64_t first, last, step = 0;
  const char* at = number_read(text, TUNE_MAX_EXTENT, &first);
  if (!at) return NULL;
  if (*at != '-') {
    add(rows, first);
    return at;
  }
  at = number_read(at + 1, TUNE_MAX_EXTENT, &last);
  if (!at || last < first) return NULL;
  if (strncmp(at, ":all", 4) == 0) {
    add_all(rows, first, last);
    return at + 4;
  }
  if (*at == ':' && !(at = number_read(at + 1, TUNE_MAX_EXTENT, &step))) return NULL;
  add_range(rows, first, last, step);
  return at;
}

static int by_size(const void* a, const void* b) {
  const int64_t one = *(const int64_t*)a, other = *(const int64_t*)b;
  return (one > other) - (one < other);
}

static void sort(tune_rows* rows) {
  int32_t kept = 0;
  qsort(rows->m, (size_t)rows->count, sizeof *rows->m, by_size);
  for (int32_t i = 0; i < rows->count; ++i)
    if (i == 0 || rows->m[i] != rows->m[kept - 1]) rows->m[kept++] = rows->m[i];
  rows->count = kept;
}

int rows_read(const char* text, tune_rows* rows, char* why, size_t size) {
  rows->count = 0;
  rows->m = malloc(MAX_ROWS * sizeof *rows->m);
  if (!rows->m) {
    snprintf(why, size, "memory is exhausted");
    return -1;
  }
  for (const char* item = text;; ++item) {
    const char* const end = read_item(item, rows);
    if (!end || (*end != ',' && *end != '\0')) return refuse(why, size, item);
    if (is_full(rows)) {
      snprintf(why, size, "there are %d numbers of rows or more: a larger step has fewer",
               MAX_ROWS);
      return -1;
    }
    if (*end == '\0') break;
    item = end;
  }
  sort(rows);
  return 0;
}

void rows_free(tune_rows* rows) {
  free(rows->m);
  rows->m = NULL;
  rows->count = 0;
}
