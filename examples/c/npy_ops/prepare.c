/* SPDX-License-Identifier: Apache-2.0 */
/* From files to descriptions. All faults of the input are found here, before a device is opened. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "job.h"

/* The alignment of tw_malloc(). */
enum { kAlignment = 256 };

static tw_dtype library_dtype(const struct npy* array) {
  switch (array->type->kind) {
    case NPY_F16:
      return TW_DTYPE_F16;
    case NPY_F32:
      return TW_DTYPE_F32;
    case NPY_U16:
      return TW_DTYPE_BF16;
    case NPY_I32:
      return TW_DTYPE_I32;
    case NPY_I64:
      return TW_DTYPE_I64;
  }
  return 0;
}

/* Elements from the start of one line to the next. */
static int64_t pitch_of(const struct npy* array) {
  return (int64_t)(array->pitch / array->type->size);
}

static tw_order order_of(const struct npy* array) {
  return array->fortran ? TW_COLUMN_MAJOR : TW_ROW_MAJOR;
}

static int want_rank(const struct npy* array, int rank) {
  char text[64];
  if (array->rank == rank) return 0;
  return bad_input("%s: shape %s; expected %s", array->path, npy_shape_text(array, text),
                   rank == 1 ? "a vector" : "a matrix");
}

static int want_data(const struct npy* array) {
  const enum npy_kind kind = array->type->kind;
  if (kind == NPY_F16 || kind == NPY_F32 || kind == NPY_U16) return want_rank(array, 2);
  return bad_input("%s: dtype %s; expected <f4, <f2 or <u2 (as bf16)", array->path,
                   array->type->descr);
}

static int want_same_type(const struct npy* a, const struct npy* b) {
  if (a->type == b->type) return 0;
  return bad_input("%s is %s and %s is %s; they must have the same dtype", a->path, a->type->descr,
                   b->path, b->type->descr);
}

static int prepare_gemm(struct job* job) {
  const struct npy* a = &job->input[0];
  const struct npy* b = &job->input[1];
  char a_shape[64];
  char b_shape[64];
  int code;
  for (int i = 0; i < 2; i++) {
    const struct npy* x = &job->input[i];
    if (x->type->kind != NPY_F16 && x->type->kind != NPY_U16) {
      return bad_input("%s: dtype %s; gemm multiplies <f2 and <u2 (as bf16), so convert it first",
                       x->path, x->type->descr);
    }
    if ((code = want_rank(x, 2)) != 0) return code;
  }
  if ((code = want_same_type(a, b)) != 0) return code;
  if (a->shape[1] != b->shape[0]) {
    return bad_input(
        "%s is %s and %s is %s; the columns of the first must be the rows of the "
        "second",
        a->path, npy_shape_text(a, a_shape), b->path, npy_shape_text(b, b_shape));
  }
  const int64_t shape[2] = {a->shape[0], b->shape[1]};
  code = npy_create(job->options.output, a->type->kind, 2, shape, &job->result);
  if (code != 0) return code;

  tw_gemm_desc* desc = &job->desc.gemm;
  tw_gemm_desc_init(desc, sizeof *desc);
  desc->a_dtype = desc->d_dtype = library_dtype(a);
  desc->a_order = order_of(a);
  desc->b_order = order_of(b);
  desc->m = shape[0];
  desc->n = shape[1];
  desc->k = a->shape[1];
  desc->lda = pitch_of(a);
  desc->ldb = pitch_of(b);
  desc->ldc = desc->ldd = pitch_of(&job->result);
  desc->a_alignment = desc->b_alignment = desc->d_alignment = kAlignment;
  return 0;
}

/* Converts the indices to int32 and checks that each is a row of the table. */
static int narrow_index(struct npy* index, int64_t rows) {
  struct npy narrow;
  if (index->type->kind != NPY_I32 && index->type->kind != NPY_I64) {
    return bad_input("%s: dtype %s; indices are <i4 or <i8", index->path, index->type->descr);
  }
  int code = want_rank(index, 1);
  if (code == 0) code = npy_create(index->path, NPY_I32, 1, index->shape, &narrow);
  if (code != 0) return code;
  for (int64_t i = 0; i < index->line; i++) {
    int64_t row;
    int32_t row32;
    if (index->type->kind == NPY_I64) {
      memcpy(&row, index->data + i * 8, 8);
    } else {
      memcpy(&row32, index->data + i * 4, 4);
      row = row32;
    }
    if (row < 0 || row >= rows || row > INT32_MAX) {
      npy_free(&narrow);
      return bad_input("%s: index %" PRId64 " at position %" PRId64
                       " is outside the table's rows 0 to %" PRId64,
                       index->path, row, i, rows - 1);
    }
    row32 = (int32_t)row;
    memcpy(narrow.data + i * 4, &row32, 4);
  }
  npy_free(index);
  *index = narrow;
  return 0;
}

/* With a repeated index the result would depend on the order of the writes. */
static int want_no_repeats(const struct npy* index, int64_t rows) {
  unsigned char* seen = calloc((size_t)rows, 1);
  int code = seen == NULL ? failed("no memory for %" PRId64 " flags", rows) : 0;
  for (int64_t i = 0; code == 0 && i < index->line; i++) {
    int32_t row;
    memcpy(&row, index->data + i * 4, 4);
    if (seen[row]++ != 0) {
      code = bad_input("%s: index %" PRId32 " at position %" PRId64
                       " is repeated; scatter requires unique indices",
                       index->path, row, i);
    }
  }
  free(seen);
  return code;
}

/* Gather and scatter need the rows of T in C order, whatever the file's order. */
static int prepare_rows(struct job* job) {
  struct npy* table = &job->input[0];
  struct npy* index = &job->input[1];
  struct npy* source = &job->input[2];
  const int scatter = job->options.op == TW_OP_SCATTER;
  int code = want_data(table);
  if (code == 0) code = narrow_index(index, table->shape[0]);
  if (code == 0) code = npy_to_c_order(table);
  if (code != 0) return code;
  if (scatter) {
    char got[64];
    if ((code = want_data(source)) != 0 || (code = want_same_type(table, source)) != 0 ||
        (code = want_no_repeats(index, table->shape[0])) != 0) {
      return code;
    }
    if (source->shape[0] != index->shape[0] || source->shape[1] != table->shape[1]) {
      return bad_input("%s: shape %s; (%" PRId64 ", %" PRId64 ") is needed for %" PRId64
                       " indices into rows of %" PRId64,
                       source->path, npy_shape_text(source, got), index->shape[0], table->shape[1],
                       index->shape[0], table->shape[1]);
    }
    code = npy_to_c_order(source);
  } else {
    const int64_t shape[2] = {index->shape[0], table->shape[1]};
    code = npy_create(job->options.output, table->type->kind, 2, shape, &job->result);
  }
  if (code != 0) return code;

  tw_rows_desc* desc = &job->desc.rows;
  tw_rows_desc_init(desc, sizeof *desc);
  desc->dtype = library_dtype(table);
  desc->table_alignment = desc->packed_alignment = kAlignment;
  desc->table_rows = table->shape[0];
  desc->table_pitch = pitch_of(table);
  desc->columns = table->shape[1];
  desc->count = index->shape[0];
  desc->packed_pitch = pitch_of(scatter ? source : &job->result);
  return 0;
}

/* A Fortran-ordered matrix is copied and written line by line, as its transpose. */
static int prepare_copy(struct job* job) {
  const struct npy* a = &job->input[0];
  const int64_t* box = job->options.box;
  char text[64];
  int code = want_data(a);
  if (code != 0) return code;
  if (box[1] > a->shape[0] || box[3] > a->shape[1]) {
    return bad_input("%s: shape %s; the box %" PRId64 ":%" PRId64 ",%" PRId64 ":%" PRId64
                     " reaches outside it",
                     a->path, npy_shape_text(a, text), box[0], box[1], box[2], box[3]);
  }
  int64_t shape[2] = {box[1] - box[0], box[3] - box[2]};
  const int64_t lines[2] = {shape[a->fortran], shape[!a->fortran]};
  code = npy_create(job->options.output, a->type->kind, 2, lines, &job->result);
  if (code != 0) return code;
  job->result.fortran = a->fortran;
  job->result.shape[0] = shape[0];
  job->result.shape[1] = shape[1];
  const int64_t first_line = box[a->fortran ? 2 : 0];
  const int64_t first = box[a->fortran ? 0 : 2];
  job->copy_offset = (uint64_t)first_line * a->pitch + (uint64_t)first * a->type->size;

  tw_copy_desc* desc = &job->desc.copy;
  tw_copy_desc_init(desc, sizeof *desc);
  desc->dtype = library_dtype(a);
  desc->rank = 2;
  desc->shape[0] = lines[0];
  desc->shape[1] = lines[1];
  desc->src_stride[0] = pitch_of(a);
  desc->dst_stride[0] = pitch_of(&job->result);
  desc->src_stride[1] = desc->dst_stride[1] = 1;
  /* If the box's address is promised to be aligned, the copy can use TMA. */
  desc->src_alignment = job->copy_offset % NPY_PITCH == 0 ? NPY_PITCH : (uint32_t)a->type->size;
  desc->dst_alignment = kAlignment;
  return 0;
}

int job_prepare(struct job* job) {
  for (int i = 0; i < job->options.inputs; i++) {
    const int code = npy_read(job->options.input[i], &job->input[i]);
    if (code != 0) return code;
  }
  switch (job->options.op) {
    case TW_OP_GEMM:
      return prepare_gemm(job);
    case TW_OP_COPY:
      return prepare_copy(job);
    default:
      return prepare_rows(job);
  }
}

void job_free(struct job* job) {
  for (int i = 0; i < MAX_INPUTS; i++) npy_free(&job->input[i]);
  npy_free(&job->result);
}
