/* SPDX-License-Identifier: Apache-2.0 */
/* npy_check.py in C, for machines without NumPy: the same commands, files and tolerances,
 * documented there. It shares no code with npy_ops, and reads only files that `make` and npy_ops
 * write, with version 1 headers. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 1001, K = 1503, N = 705, TABLE_ROWS = 8192, TABLE_COLUMNS = 512 };

/* A matrix; a vector is a matrix with one column. */
struct array {
  char descr[4]; /* "<f4" */
  int fortran;
  int rank;
  int64_t rows;
  int64_t columns;
  size_t size; /* bytes of an element */
  unsigned char* data;
};

static void quit(const char* path, const char* what) {
  fprintf(stderr, "npy_check: %s: %s\n", path, what);
  exit(1);
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory == NULL) quit("memory", "there is not enough");
  return memory;
}

static struct array load(const char* path) {
  struct array a;
  unsigned char start[10];
  char header[65536];
  FILE* file = fopen(path, "rb");
  if (file == NULL) quit(path, "cannot be opened");
  if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\x01", 7) != 0) {
    quit(path, "is no .npy file of version 1");
  }
  const size_t length = start[8] | (size_t)start[9] << 8;
  if (fread(header, 1, length, file) != length) quit(path, "is truncated");
  header[length] = '\0';
  const char* descr = strstr(header, "'descr': '");
  const char* shape = strstr(header, "'shape': (");
  if (descr == NULL || shape == NULL) quit(path, "has a header that is not NumPy's own");
  memcpy(a.descr, descr + 10, 3);
  a.descr[3] = '\0';
  a.size = (size_t)(a.descr[2] - '0');
  a.fortran = strstr(header, "'fortran_order': True") != NULL;
  a.columns = 1;
  a.rank = sscanf(shape + 10, "%" SCNd64 ", %" SCNd64, &a.rows, &a.columns);
  if (a.rank < 1) quit(path, "has no shape");
  const size_t bytes = (size_t)(a.rows * a.columns) * a.size;
  a.data = allocate(bytes + 1);
  if (fread(a.data, 1, bytes + 1, file) != bytes) quit(path, "is longer or shorter than its shape");
  fclose(file);
  return a;
}

static const unsigned char* at(const struct array* a, int64_t row, int64_t column) {
  const int64_t place = a->fortran ? column * a->rows + row : row * a->columns + column;
  return a->data + (size_t)place * a->size;
}

static double from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double value = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -value : value;
}

static double from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

/* The array as doubles in C order. */
static double* wide(const struct array* a) {
  double* out = allocate((size_t)(a->rows * a->columns) * sizeof(double));
  for (int64_t i = 0; i < a->rows; i++) {
    for (int64_t j = 0; j < a->columns; j++) {
      uint16_t bits;
      memcpy(&bits, at(a, i, j), 2);
      out[i * a->columns + j] = a->descr[1] == 'u' ? from_bf16(bits) : from_f16(bits);
    }
  }
  return out;
}

static int64_t index_at(const struct array* index, int64_t i) {
  int32_t narrow;
  int64_t value;
  if (index->size == 8) {
    memcpy(&value, at(index, i, 0), 8);
    return value;
  }
  memcpy(&narrow, at(index, i, 0), 4);
  return narrow;
}

/* --- Checks --------------------------------------------------------------------------------- */

static void want_shape(const char* path, const struct array* got, const struct array* like,
                       int64_t rows, int64_t columns) {
  if (strcmp(got->descr, like->descr) != 0 || got->rank != 2 || got->rows != rows ||
      got->columns != columns) {
    quit(path, "has another shape or dtype than the operation gives");
  }
}

static void check_gemm(char** path) {
  const struct array a = load(path[0]);
  const struct array b = load(path[1]);
  const struct array c = load(path[2]);
  want_shape(path[2], &c, &a, a.rows, b.columns);
  const double* x = wide(&a);
  const double* y = wide(&b);
  const double* got = wide(&c);
  const double unit = c.descr[1] == 'u' ? ldexp(1, -8) : ldexp(1, -11);
  double* sum = allocate((size_t)b.columns * 2 * sizeof(double));
  double* magnitude = sum + b.columns;
  double largest_error = 0;
  double largest = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    memset(sum, 0, (size_t)b.columns * 2 * sizeof(double));
    for (int64_t k = 0; k < a.columns; k++) {
      const double factor = x[i * a.columns + k];
      for (int64_t j = 0; j < b.columns; j++) {
        const double product = factor * y[k * b.columns + j];
        sum[j] += product;
        magnitude[j] += fabs(product);
      }
    }
    for (int64_t j = 0; j < b.columns; j++) {
      const double error = fabs(got[i * b.columns + j] - sum[j]);
      const double allowed = unit * fabs(sum[j]) + ldexp(magnitude[j], -18);
      if (!(error <= allowed + ldexp(1, -25))) {
        fprintf(stderr, "npy_check: %s[%" PRId64 ", %" PRId64 "] is %g, not %g\n", path[2], i, j,
                got[i * b.columns + j], sum[j]);
        exit(1);
      }
      largest_error = fmax(largest_error, error);
      largest = fmax(largest, fabs(sum[j]));
    }
  }
  printf("%" PRId64 " elements, largest error %.3g, largest element %.3g\n", c.rows * c.columns,
         largest_error, largest);
}

static void say_equal(const char* path, const struct array* result, int64_t wrong) {
  if (wrong != 0) {
    fprintf(stderr, "npy_check: %s: %" PRId64 " of %" PRId64 " elements are wrong\n", path, wrong,
            result->rows * result->columns);
    exit(1);
  }
  printf("%" PRId64 " elements, bit for bit\n", result->rows * result->columns);
}

static void check_gather(char** path) {
  const struct array table = load(path[0]);
  const struct array index = load(path[1]);
  const struct array result = load(path[2]);
  int64_t wrong = 0;
  want_shape(path[2], &result, &table, index.rows, table.columns);
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      wrong += memcmp(at(&result, i, j), at(&table, index_at(&index, i), j), result.size) != 0;
    }
  }
  say_equal(path[2], &result, wrong);
}

static void check_scatter(char** path) {
  const struct array table = load(path[0]);
  const struct array index = load(path[1]);
  const struct array source = load(path[2]);
  const struct array result = load(path[3]);
  int64_t wrong = 0;
  want_shape(path[3], &result, &table, table.rows, table.columns);
  int64_t* from = allocate((size_t)table.rows * sizeof(int64_t)); /* row of source, or -1 */
  for (int64_t i = 0; i < table.rows; i++) from[i] = -1;
  for (int64_t i = 0; i < index.rows; i++) from[index_at(&index, i)] = i;
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      const unsigned char* expected = from[i] < 0 ? at(&table, i, j) : at(&source, from[i], j);
      wrong += memcmp(at(&result, i, j), expected, result.size) != 0;
    }
  }
  say_equal(path[3], &result, wrong);
}

static void check_copy(char** path) {
  const struct array a = load(path[0]);
  const struct array result = load(path[1]);
  const int64_t r0 = atoll(path[2]);
  const int64_t c0 = atoll(path[4]);
  int64_t wrong = 0;
  want_shape(path[1], &result, &a, atoll(path[3]) - r0, atoll(path[5]) - c0);
  for (int64_t i = 0; i < result.rows; i++) {
    for (int64_t j = 0; j < result.columns; j++) {
      wrong += memcmp(at(&result, i, j), at(&a, r0 + i, c0 + j), result.size) != 0;
    }
  }
  say_equal(path[1], &result, wrong);
}

/* --- Inputs --------------------------------------------------------------------------------- */

static uint64_t random_state = 20;

static uint64_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state >> 33;
}

static void save(const char* folder, const char* name, const char* descr, int fortran,
                 const char* shape, const void* data, size_t bytes) {
  char path[4096];
  char header[118];
  snprintf(path, sizeof(path), "%s/%s.npy", folder, name);
  FILE* file = fopen(path, "wb");
  if (file == NULL) quit(path, "cannot be created");
  const int length =
      snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
               descr, fortran ? "True" : "False", shape);
  fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, file); /* 0x76 = 118: the data begins at byte 128 */
  fprintf(file, "%s%*s\n", header, 117 - length, "");
  fwrite(data, 1, bytes, file);
  if (fclose(file) != 0) quit(path, "cannot be written");
}

/* Values from -1 to 1: as f32, as bf16 bits (the upper half of an f32) or as f16 bits. */
static void make_matrix(const char* folder, const char* name, const char* descr, int fortran,
                        int64_t rows, int64_t columns) {
  const size_t count = (size_t)(rows * columns);
  const size_t size = descr[2] == '4' ? 4 : 2;
  unsigned char* data = allocate(count * size);
  for (size_t i = 0; i < count; i++) {
    const float value = (float)random_bits() / 1073741824.0f - 1;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint16_t half = (uint16_t)(bits >> 16);
    if (descr[1] == 'f' && size == 2) {
      half = (uint16_t)(random_bits() % 0x3C00 | (random_bits() & 1) << 15); /* below 1 */
    }
    memcpy(data + i * size, size == 4 ? (const void*)&bits : &half, size);
  }
  char shape[64];
  snprintf(shape, sizeof(shape), "%" PRId64 ", %" PRId64, rows, columns);
  save(folder, name, descr, fortran, shape, data, count * size);
  free(data);
}

/* `count` indices of table rows; no repetition if `unique`. */
static void make_index(const char* folder, const char* name, int wide_index, int64_t count,
                       int64_t rows, int unique) {
  int64_t* all = allocate((size_t)(rows > count ? rows : count) * sizeof(int64_t));
  int32_t* narrow = allocate((size_t)count * sizeof(int32_t));
  for (int64_t i = 0; unique && i < rows; i++) all[i] = i;
  for (int64_t i = 0; i < count; i++) {
    if (unique) { /* the next of a shuffled deck */
      const int64_t other = i + (int64_t)(random_bits() % (uint64_t)(rows - i));
      const int64_t drawn = all[other];
      all[other] = all[i];
      all[i] = drawn;
    } else {
      all[i] = (int64_t)(random_bits() % (uint64_t)rows);
    }
    narrow[i] = (int32_t)all[i];
  }
  char shape[64];
  snprintf(shape, sizeof(shape), "%" PRId64 ",", count);
  save(folder, name, wide_index ? "<i8" : "<i4", 0, shape,
       wide_index ? (const void*)all : (const void*)narrow, (size_t)count * (wide_index ? 8 : 4));
  free(all);
  free(narrow);
}

static void make_bad(const char* folder) {
  static const double zeros[64];
  static const int64_t high[3] = {0, TABLE_ROWS, 1};
  static const int32_t negative[2] = {5, -1};
  static const int64_t wide_index[1] = {(INT64_C(1) << 32) + 3};
  static const int32_t twice[3] = {7, 3, 7};
  save(folder, "bad_f64", "<f8", 0, "8, 8", zeros, 512);
  save(folder, "bad_rank", "<f4", 0, "2, 3, 4", zeros, 96);
  save(folder, "bad_empty", "<f4", 0, "0, 4", zeros, 0);
  save(folder, "bad_index_high", "<i8", 0, "3,", high, sizeof(high));
  save(folder, "bad_index_negative", "<i4", 0, "2,", negative, sizeof(negative));
  save(folder, "bad_index_wide", "<i8", 0, "1,", wide_index, sizeof(wide_index));
  save(folder, "bad_index_rank", "<i4", 0, "3, 1", zeros, 12);
  save(folder, "bad_index_twice", "<i4", 0, "3,", twice, sizeof(twice));
}

static void make(const char* folder) {
  make_matrix(folder, "a_bf16", "<u2", 0, M, K);
  make_matrix(folder, "b_bf16", "<u2", 0, K, N);
  make_matrix(folder, "b_bf16_f", "<u2", 1, K, N);
  make_matrix(folder, "a_f16", "<f2", 0, 201, 137);
  make_matrix(folder, "a_f16_f", "<f2", 1, 201, 137);
  make_matrix(folder, "b_f16", "<f2", 0, 137, 119);
  make_matrix(folder, "b_f16_f", "<f2", 1, 137, 119);
  make_matrix(folder, "t_f32", "<f4", 0, TABLE_ROWS, TABLE_COLUMNS);
  make_matrix(folder, "t_f32_f", "<f4", 1, 1000, 333);
  make_matrix(folder, "t_f16", "<f2", 0, 1000, 333);
  make_index(folder, "index", 1, 5000, TABLE_ROWS, 0);
  make_index(folder, "index_unique", 0, 3001, TABLE_ROWS, 1);
  make_index(folder, "index_small", 0, 777, 1000, 1);
  make_matrix(folder, "s_f32", "<f4", 0, 3001, TABLE_COLUMNS);
  make_matrix(folder, "s_f16", "<f2", 0, 777, 333);
  make_bad(folder);
  printf("inputs by npy_check.c\n");
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int arguments;
    void (*check)(char** path);
  } kCommands[] = {{"gemm", 3, check_gemm},
                   {"gather", 3, check_gather},
                   {"scatter", 4, check_scatter},
                   {"copy", 6, check_copy}};
  if (argc == 3 && strcmp(argv[1], "make") == 0) {
    make(argv[2]);
    return 0;
  }
  for (size_t i = 0; i < sizeof(kCommands) / sizeof(kCommands[0]); i++) {
    if (argc == kCommands[i].arguments + 2 && strcmp(argv[1], kCommands[i].name) == 0) {
      kCommands[i].check(argv + 2);
      return 0;
    }
  }
  quit("usage", "make DIR, or gemm, gather, scatter or copy with their files");
  return 1;
}
