/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "npy_header.h"

static const unsigned char kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { kMaxHeader = 1 << 20 };

static const struct npy_type kTypes[] = {
    {NPY_F16, "<f2", 2}, {NPY_F32, "<f4", 4}, {NPY_U16, "<u2", 2},
    {NPY_I32, "<i4", 4}, {NPY_I64, "<i8", 8},
};

static const struct npy_type* find_type(const char* descr) {
  for (size_t i = 0; i < sizeof(kTypes) / sizeof(kTypes[0]); i++) {
    if (strcmp(kTypes[i].descr, descr) == 0) return &kTypes[i];
  }
  return NULL;
}

size_t npy_bytes(const struct npy* array) {
  return (size_t)array->lines * array->pitch;
}

const char* npy_shape_text(const struct npy* array, char* text) {
  if (array->rank == 1) {
    snprintf(text, 64, "(%" PRId64 ",)", array->shape[0]);
  } else {
    snprintf(text, 64, "(%" PRId64 ", %" PRId64 ")", array->shape[0], array->shape[1]);
  }
  return text;
}

void npy_free(struct npy* array) {
  free(array->data);
  memset(array, 0, sizeof(*array));
}

/* Sets lines, line and pitch from type, rank, shape and order, and allocates. */
static int allocate(struct npy* array) {
  if (array->rank == 1) {
    array->lines = 1;
    array->line = array->shape[0];
  } else {
    array->lines = array->shape[array->fortran];
    array->line = array->shape[!array->fortran];
  }
  const size_t bytes = (size_t)array->line * array->type->size;
  array->pitch = (bytes + NPY_PITCH - 1) / NPY_PITCH * NPY_PITCH;
  if ((size_t)array->lines > SIZE_MAX / array->pitch ||
      (array->data = calloc((size_t)array->lines, array->pitch)) == NULL) {
    return failed("%s: no memory for %" PRId64 " x %" PRId64 " elements", array->path,
                  array->shape[0], array->shape[1]);
  }
  return 0;
}

int npy_create(const char* path, enum npy_kind kind, int rank, const int64_t* shape,
               struct npy* array) {
  memset(array, 0, sizeof(*array));
  array->path = path;
  for (size_t i = 0; i < sizeof(kTypes) / sizeof(kTypes[0]); i++) {
    if (kTypes[i].kind == kind) array->type = &kTypes[i];
  }
  array->rank = rank;
  array->shape[0] = shape[0];
  array->shape[1] = rank == 2 ? shape[1] : 1;
  return allocate(array);
}

/* Checks the parsed header against what this program supports and against the size of the data. */
static int accept_header(const struct npy_header* header, uint64_t data_bytes, struct npy* array) {
  array->type = find_type(header->descr);
  if (array->type == NULL) {
    return bad_input("%s: unsupported dtype '%s'; supported are <f2, <f4, <u2 (as bf16), <i4, <i8",
                     array->path, header->descr[0] != '\0' ? header->descr : "(record)");
  }
  if (header->rank < 1 || header->rank > 2) {
    return bad_input("%s: has %d dimensions; 1 or 2 are supported", array->path, header->rank);
  }
  array->rank = header->rank;
  array->fortran = header->rank == 2 && header->fortran;
  array->shape[0] = header->shape[0];
  array->shape[1] = header->rank == 2 ? header->shape[1] : 1;
  if (array->shape[0] == 0 || array->shape[1] == 0) {
    return bad_input("%s: is empty, shape (%" PRId64 ", %" PRId64 ")", array->path, array->shape[0],
                     array->shape[1]);
  }
  /* A division, because the product may overflow: a damaged header may claim any shape. */
  const uint64_t available = data_bytes / array->type->size;
  if ((uint64_t)array->shape[0] > available / (uint64_t)array->shape[1]) {
    return bad_input("%s: truncated: %" PRIu64 " bytes of data, too few for shape (%" PRId64
                     ", %" PRId64 ") of %s",
                     array->path, data_bytes, array->shape[0], array->shape[1], array->type->descr);
  }
  return 0;
}

/* Reads magic, version and header text. Leaves the file position at the data. */
static int read_header(FILE* file, struct npy* array, struct npy_header* header) {
  unsigned char start[12];
  if (fread(start, 1, 10, file) != 10 || memcmp(start, kMagic, sizeof(kMagic)) != 0) {
    return bad_input("%s: not an .npy file", array->path);
  }
  const int version = start[6];
  size_t length = start[8] | (size_t)start[9] << 8;
  if (version < 1 || version > 3) {
    return bad_input("%s: unsupported .npy format version %d; supported are 1, 2 and 3",
                     array->path, version);
  }
  if (version > 1) {
    if (fread(start + 10, 1, 2, file) != 2) return bad_input("%s: truncated header", array->path);
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  if (length > kMaxHeader) {
    return bad_input("%s: header of %zu bytes; at most %d are supported", array->path, length,
                     (int)kMaxHeader);
  }
  char* text = malloc(length + 1);
  if (text == NULL) return failed("%s: no memory for its header", array->path);
  const size_t got = fread(text, 1, length, file);
  const char* wrong = got == length ? npy_header_parse(text, length, header) : "truncated header";
  free(text);
  return wrong == NULL ? 0 : bad_input("%s: %s", array->path, wrong);
}

static int read_lines(FILE* file, struct npy* array) {
  const size_t bytes = (size_t)array->line * array->type->size;
  for (int64_t i = 0; i < array->lines; i++) {
    if (fread(array->data + (size_t)i * array->pitch, 1, bytes, file) != bytes) {
      return bad_input("%s: truncated in line %" PRId64, array->path, i);
    }
  }
  return 0;
}

static int read_open(FILE* file, struct npy* array) {
  struct npy_header header;
  int code = read_header(file, array, &header);
  if (code != 0) return code;
  const off_t data = ftello(file);
  if (data < 0 || fseeko(file, 0, SEEK_END) != 0) {
    return bad_input("%s: cannot determine the size (not a regular file?): %s", array->path,
                     strerror(errno));
  }
  const off_t end = ftello(file);
  if (end < data || fseeko(file, data, SEEK_SET) != 0) {
    return bad_input("%s: cannot be read: %s", array->path, strerror(errno));
  }
  code = accept_header(&header, (uint64_t)(end - data), array);
  if (code == 0) code = allocate(array);
  if (code == 0) code = read_lines(file, array);
  return code;
}

int npy_read(const char* path, struct npy* array) {
  memset(array, 0, sizeof(*array));
  array->path = path;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return bad_input("%s: cannot be opened: %s", path, strerror(errno));
  const int code = read_open(file, array);
  fclose(file);
  if (code != 0) npy_free(array);
  return code;
}

int npy_to_c_order(struct npy* array) {
  if (!array->fortran) return 0;
  struct npy turned;
  const int code = npy_create(array->path, array->type->kind, 2, array->shape, &turned);
  if (code != 0) return code;
  const size_t size = array->type->size;
  for (int64_t r = 0; r < turned.lines; r++) {
    for (int64_t c = 0; c < turned.line; c++) {
      memcpy(turned.data + (size_t)r * turned.pitch + (size_t)c * size,
             array->data + (size_t)c * array->pitch + (size_t)r * size, size);
    }
  }
  npy_free(array);
  *array = turned;
  return 0;
}

/* Writes magic, version 1.0 and the header; the data then begins at a multiple of 64 bytes. */
static int write_header(FILE* file, const struct npy* array) {
  char shape[64];
  char text[192];
  const int length =
      snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }",
               array->type->descr, array->fortran ? "True" : "False", npy_shape_text(array, shape));
  const int total = (10 + length + 1 + 63) / 64 * 64;
  const int padded = total - 10;
  const unsigned char start[10] = {kMagic[0],
                                   kMagic[1],
                                   kMagic[2],
                                   kMagic[3],
                                   kMagic[4],
                                   kMagic[5],
                                   1,
                                   0,
                                   (unsigned char)(padded & 255),
                                   (unsigned char)(padded >> 8)};
  return fwrite(start, 1, sizeof(start), file) == sizeof(start) &&
         fprintf(file, "%s%*s\n", text, padded - length - 1, "") == padded;
}

static int write_open(FILE* file, const struct npy* array) {
  const size_t bytes = (size_t)array->line * array->type->size;
  if (!write_header(file, array)) return 0;
  for (int64_t i = 0; i < array->lines; i++) {
    if (fwrite(array->data + (size_t)i * array->pitch, 1, bytes, file) != bytes) return 0;
  }
  return fflush(file) == 0;
}

int npy_write(const struct npy* array) {
  const size_t capacity = strlen(array->path) + 32;
  char* temporary = malloc(capacity);
  if (temporary == NULL) return failed("%s: no memory for a name", array->path);
  snprintf(temporary, capacity, "%s.%ld.tmp", array->path, (long)getpid());
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
  FILE* file = fd < 0 ? NULL : fdopen(fd, "wb");
  int code = 0;
  if (file == NULL) {
    code = bad_input("%s: cannot be created: %s", array->path, strerror(errno));
    if (fd >= 0) {
      close(fd);
      unlink(temporary);
    }
  } else {
    const int written = write_open(file, array);
    if (fclose(file) != 0 || !written || rename(temporary, array->path) != 0) {
      code = failed("%s: cannot be written: %s", array->path, strerror(errno));
      unlink(temporary);
    }
  }
  free(temporary);
  return code;
}
