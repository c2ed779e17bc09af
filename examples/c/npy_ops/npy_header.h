/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPY_HEADER_H
#define NPY_HEADER_H
/* The text inside an .npy file's header: a Python dictionary of three keys. */

#include <stddef.h>
#include <stdint.h>

enum { NPY_HEADER_MAX_RANK = 32 };

struct npy_header {
  char descr[32]; /* "<f2"; "" where the file says something that is no plain string */
  int fortran;
  int rank;
  int64_t shape[NPY_HEADER_MAX_RANK];
};

/* Parses `length` bytes that need not end in a zero. Returns NULL, or what is wrong with them. */
const char* npy_header_parse(const char* text, size_t length, struct npy_header* header);

#endif
