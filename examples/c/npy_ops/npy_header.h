/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPY_HEADER_H
#define NPY_HEADER_H
/* The header text of an .npy file: a Python dictionary with three keys. */

#include <stddef.h>
#include <stdint.h>

enum { NPY_HEADER_MAX_RANK = 32 };

struct npy_header {
  char descr[32]; /* such as "<f2"; "" if it is not a plain string */
  int fortran;
  int rank;
  int64_t shape[NPY_HEADER_MAX_RANK];
};

/* Parses `length` bytes without a terminating zero. Returns NULL, or what is wrong. */
const char* npy_header_parse(const char* text, size_t length, struct npy_header* header);

#endif
