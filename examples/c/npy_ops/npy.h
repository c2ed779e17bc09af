/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPY_H
#define NPY_H
/* Reading and writing NumPy's .npy files, format versions 1 to 3, of one or two dimensions.
 *
 * In memory an array is a number of lines: the rows of a C-ordered matrix, the columns of a
 * Fortran-ordered one, the one line of a vector. Lines begin NPY_PITCH bytes or a multiple of it
 * apart, because the TMA wants the rows of what it moves at multiples of 16 bytes; in the file they
 * are packed. Every function that returns int returns 0, or prints one line and returns the exit
 * code (see fail.h). */

#include <stddef.h>
#include <stdint.h>

enum { NPY_PITCH = 16 };

enum npy_kind { NPY_F16, NPY_F32, NPY_U16, NPY_I32, NPY_I64 };

struct npy_type {
  enum npy_kind kind;
  const char* descr; /* as the file says it */
  size_t size;
};

struct npy {
  const char* path; /* for messages */
  const struct npy_type* type;
  int rank;         /* 1 or 2 */
  int64_t shape[2]; /* each at least 1; [1] is 1 for a vector */
  int fortran;      /* 1 where the lines are columns */
  int64_t lines;
  int64_t line; /* elements of one */
  size_t pitch; /* bytes from one to the next */
  unsigned char* data;
};

/* Reads a whole file. On success the caller frees it by npy_free(). */
int npy_read(const char* path, struct npy* array);

/* Makes an array of a type and shape, in C order, with undefined contents. */
int npy_create(const char* path, enum npy_kind kind, int rank, const int64_t* shape,
               struct npy* array);

/* Writes to a temporary file beside `array->path` and renames it: a failure leaves no output. */
int npy_write(const struct npy* array);

/* Turns a Fortran-ordered matrix into a C-ordered one; leaves others alone. */
int npy_to_c_order(struct npy* array);

void npy_free(struct npy* array);

/* Bytes that the lines take in memory. */
size_t npy_bytes(const struct npy* array);

/* "(1000, 1500)", as NumPy writes a shape. `text` holds 64 bytes. */
const char* npy_shape_text(const struct npy* array, char* text);

#endif
