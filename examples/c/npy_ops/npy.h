/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPY_H
#define NPY_H
/* Reads and writes NumPy's .npy files of one or two dimensions, format versions 1 to 3.
 *
 * In memory an array consists of lines: the rows of a C-ordered matrix, the columns of a
 * Fortran-ordered one, or a single line for a vector. The distance between lines is a multiple of
 * NPY_PITCH bytes, because TMA requires rows at multiples of 16 bytes; in the file the lines are
 * packed. A function that returns int returns 0, or prints one line and returns the exit code (see
 * fail.h). */

#include <stddef.h>
#include <stdint.h>

enum { NPY_PITCH = 16 };

enum npy_kind { NPY_F16, NPY_F32, NPY_U16, NPY_I32, NPY_I64 };

struct npy_type {
  enum npy_kind kind;
  const char* descr; /* as in the file */
  size_t size;
};

struct npy {
  const char* path; /* for messages */
  const struct npy_type* type;
  int rank;         /* 1 or 2 */
  int64_t shape[2]; /* each at least 1; [1] is 1 for a vector */
  int fortran;      /* 1: the lines are columns */
  int64_t lines;
  int64_t line; /* elements per line */
  size_t pitch; /* bytes from one line to the next */
  unsigned char* data;
};

/* Reads a whole file. On success the caller releases it with npy_free(). */
int npy_read(const char* path, struct npy* array);

/* Creates an array in C order, filled with zeros. */
int npy_create(const char* path, enum npy_kind kind, int rank, const int64_t* shape,
               struct npy* array);

/* Writes a temporary file and renames it to `array->path`, so that a failure leaves no output. */
int npy_write(const struct npy* array);

/* Transposes a Fortran-ordered matrix in memory into C order; does nothing to other arrays. */
int npy_to_c_order(struct npy* array);

void npy_free(struct npy* array);

/* Bytes of the lines in memory. */
size_t npy_bytes(const struct npy* array);

/* "(1000, 1500)", as NumPy writes a shape. `text` holds 64 bytes. */
const char* npy_shape_text(const struct npy* array, char* text);

#endif
