/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "tests/capi/tools/tune/tune_harness.h"

static char list[] = "shapes_test_XXXXXX";

static void defaults(void) {
  tune_shapes shapes = {NULL, 0};
  EQUAL(shapes_add(&shapes, "here", "n=4096 k=14336"), TUNE_DONE);
  if (!CHECK(shapes.count == 1)) return;
  const tune_shape *const shape = shapes.items;
  TEXT(shape->where, "here");
  EQUAL(shape->rows.count, 7);
  EQUAL(shape->desc.m, 8);
  EQUAL(shape->desc.n, 4096);
  EQUAL(shape->desc.k, 14336);
  EQUAL(shape->desc.a_dtype, TW_DTYPE_BF16);
  EQUAL(shape->desc.d_dtype, TW_DTYPE_BF16);
  EQUAL(shape->desc.a_order, TW_ROW_MAJOR);
  EQUAL(shape->desc.b_order, TW_COLUMN_MAJOR);
  EQUAL(shape->desc.d_order, TW_ROW_MAJOR);
  EQUAL(shape->desc.batch_count, 1);
  EQUAL(shape->desc.flags, 0);
  shapes_free(&shapes);
  EQUAL(shapes.count, 0);
}

/* A line with every field, in another order than the table's, and what is said of it. */
static void fields(void) {
  static const char *const kLines[] = {
      "k=64\tn=32 m=4,2 types=f16->f32 orders=crc accumulator=f16 bias=row bias_type=f32 "
      "activation=gelu_tanh gate=halves d_factor=column amax batch=7 lda=8 ldb=64 ldd=40 max_sms=9 "
      "programmatic a_constant b_constant device_m device_scalars batch_pointers batch_invariant "
      "staging_copy d_padding_writable fast_accumulate # all of them",
      NULL};
  tune_shapes shapes = shapes_of(kLines);
  char text[512] = "";
  if (!CHECK(shapes.count == 1)) return;
  const tw_gemm_desc *const d = &shapes.items[0].desc;
  EQUAL(shapes.items[0].rows.count, 2);
  EQUAL(d->m, 2);
  EQUAL(d->a_dtype, TW_DTYPE_F16);
  EQUAL(d->d_dtype, TW_DTYPE_F32);
  EQUAL(d->accumulator_dtype, TW_DTYPE_F16);
  EQUAL(d->a_order, TW_COLUMN_MAJOR);
  EQUAL(d->b_order, TW_ROW_MAJOR);
  EQUAL(d->d_order, TW_COLUMN_MAJOR);
  EQUAL(d->bias, TW_PER_ROW);
  EQUAL(d->bias_dtype, TW_DTYPE_F32);
  EQUAL(d->activation, TW_ACTIVATION_GELU_TANH);
  EQUAL(d->gate, TW_GATE_HALVES);
  EQUAL(d->d_factor, TW_PER_COLUMN);
  EQUAL(d->batch_count, 7);
  EQUAL(d->lda, 8);
  EQUAL(d->ldb, 64);
  EQUAL(d->ldd, 40);
  EQUAL(d->max_sms, 9);
  EQUAL(d->flags, 2047); /* every bit that there is */
  shape_options(shapes.items, text, sizeof text);
  TEXT(text,
       "f16->f32 crc accumulator=f16 bias=row bias_type=f32 activation=gelu_tanh gate=halves "
       "d_factor=column amax fast_accumulate batch=7 batch_pointers batch_invariant programmatic "
       "a_constant "
       "b_constant device_m device_scalars staging_copy d_padding_writable lda=8 ldb=64 ldd=40 "
       "max_sms=9");
  shapes_free(&shapes);
}

/* Narrow types and their scales. */
static void narrow(void) {
  static const char *const kLines[] = {
      "n=64 k=256 m=8 types=f8e4m3,f8e5m2->bf16 a_scale=1x128 b_scale=128x128 scale_orders=cc",
      ("n=64 k=256 m=8 types=f8e4m3->f8e5m2 a_scale=row b_scale=row fast_accumulate "
       "d_quantize=1x128 scale_orders=rrc"),
      "n=64 k=256 m=8 types=i8->i32", "n=64 k=256 m=8 types=tf32,tf32->f32 a_scale=tensor", NULL};
  static const char *const kSaid[] = {
      "f8e4m3,f8e5m2->bf16 rcr a_scale=1x128 b_scale=128x128 scale_orders=cc",
      ("f8e4m3->f8e5m2 rcr a_scale=row b_scale=row d_quantize=1x128 scale_orders=rrc "
       "fast_accumulate"),
      "i8->i32 rcr", "tf32->f32 rcr a_scale=tensor"};
  tune_shapes shapes = shapes_of(kLines);
  if (!CHECK(shapes.count == (int32_t)COUNT(kSaid))) return;
  for (int32_t i = 0; i < shapes.count; ++i) {
    char text[512] = "";
    shape_options(&shapes.items[i], text, sizeof text);
    TEXT(text, kSaid[i]);
  }
  const tw_gemm_desc *d = &shapes.items[0].desc;
  EQUAL(d->a_dtype, TW_DTYPE_F8E4M3);
  EQUAL(d->b_dtype, TW_DTYPE_F8E5M2);
  EQUAL(d->d_dtype, TW_DTYPE_BF16);
  EQUAL(d->a_scale, TW_SCALE_1X128);
  EQUAL(d->b_scale, TW_SCALE_128X128);
  EQUAL(d->a_scale_order, TW_COLUMN_MAJOR);
  EQUAL(d->b_scale_order, TW_COLUMN_MAJOR);
  EQUAL(d->d_block_scale_order, TW_ROW_MAJOR);
  d = &shapes.items[1].desc;
  EQUAL(d->b_dtype, 0);
  EQUAL(d->d_quantize, TW_SCALE_1X128);
  EQUAL(d->d_block_scale_order, TW_COLUMN_MAJOR);
  EQUAL(d->flags, TW_GEMM_FAST_ACCUMULATE);
  EQUAL(shapes.items[2].desc.d_dtype, TW_DTYPE_I32);
  EQUAL(shapes.items[3].desc.b_dtype, 0);
  shapes_free(&shapes);
}

static void refused(void) {
  static const struct {
    const char *line, *words;
  } kBad[] = {{"m=8", "n is missing"},
              {"n=8", "k is missing"},
              {"n=8 k=0", "k=0: k is a number from 1 to 2147482624"},
              {"n=8 k=-3", "k=-3: k is a number from 1 to 2147482624"},
              {"n=8x k=8", "n=8x: n is a number from 1"},
              {"n=2147482625 k=8", "to 2147482624"},
              {"n= k=8", "n=: n is a number"},
              {"n=8 k=8 n=8", "n is given twice"},
              {"n=8 k=8 amax amax", "amax is given twice"},
              {"n=8 k=8 colour=red", "\"colour\" is no field; there are: m= n= k= types="},
              {"n=8 k=8 fast", "\"fast\" is no field"},
              {"n=8 k=8 =3", "\"\" is no field"},
              {"n=8 k=8 types", "types needs a value: types=..."},
              {"n=8 k=8 amax=1", "amax takes no value"},
              {"n=8 k=8 types=bf16", "types=bf16: the type of A and B"},
              {"n=8 k=8 types=bf17->f32", "bf16->f32 or f8e4m3,f8e5m2->bf16, for example"},
              {"n=8 k=8 types=bf16->", "bf16->f32 or f8e4m3,f8e5m2->bf16, for example"},
              {"n=8 k=8 types=f8e4m3,->f32", "bf16->f32 or f8e4m3,f8e5m2->bf16, for example"},
              {"n=8 k=8 types=f8e4m3->f16,f32", "bf16->f32 or f8e4m3,f8e5m2->bf16, for example"},
              {"n=8 k=8 bias_type=i8", "bias_type is one of bf16, f16, f32"},
              {"n=8 k=8 a_scale=block", "a_scale is one of tensor, row, 1x128, 128x128"},
              {"n=8 k=8 d_quantize=row", "d_quantize is one of 1x128"},
              {"n=8 k=8 scale_orders=r", "scale_orders=r: the orders of the scales of A, of B"},
              {"n=8 k=8 scale_orders=rcrc", "cc, for example"},
              {"n=8 k=8 orders=rr", "orders=rr: the orders of A, B and D"},
              {"n=8 k=8 orders=rcx", "rcr, for example"},
              {"n=8 k=8 activation=tanh", "activation is one of relu, gelu, gelu_tanh, silu"},
              {"n=8 k=8 bias=tensor", "bias is one of row, column"},
              {"n=8 k=8 batch=1048577", "batch is a number from 1 to 1048576"},
              {"n=8 k=8 max_sms=0", "max_sms is a number from 1 to 1048576"},
              {"m=8- n=8 k=8", "m=8-: \"8-\" is no number of rows"}};
  tune_shapes shapes = {NULL, 0};
  said();
  for (size_t i = 0; i < COUNT(kBad); ++i) {
    const char *words;
    EQUAL(shapes_add(&shapes, "list, line 3", kBad[i].line), TUNE_MISUSED);
    words = said();
    CHECK(strncmp(words, "tilewright-tune: list, line 3: ", 31) == 0);
    EQUAL(times(words, "\n"), 1);
    if (!CHECK(strstr(words, kBad[i].words) != NULL)) printf("    %s: %s", kBad[i].line, words);
  }
  EQUAL(shapes.count, 0);
  shapes_free(&shapes);
}

static void file(const char *text) {
  FILE *const made = fopen(list, "wb");
  if (!CHECK(made != NULL)) exit(1);
  fputs(text, made);
  fclose(made);
}

static void files(void) {
  tune_shapes shapes = {NULL, 0};
  char where[64];
  said();
  file("# layers\n\n  m=1 n=8 k=8 # the first\r\n\t\n#n=9\nm=2 n=8 k=16");
  EQUAL(shapes_add_file(&shapes, list), TUNE_DONE);
  EQUAL(shapes.count, 2);
  snprintf(where, sizeof where, "%s, line 3", list);
  TEXT(shapes.items[0].where, where);
  snprintf(where, sizeof where, "%s, line 6", list);
  TEXT(shapes.items[1].where, where);
  EQUAL(shapes.items[1].desc.k, 16);
  TEXT(said(), "");
  /* All mistakes are told at once. */
  file("m=1 n=8 k=8\nm=1 n=8\nn=8 k=8\nm=1 n=8 k=8 orders=abc\n");
  EQUAL(shapes_add_file(&shapes, list), TUNE_MISUSED);
  EQUAL(shapes.count, 4);
  SAYS("line 2: k is missing");
  EQUAL(shapes_add_file(&shapes, list), TUNE_MISUSED);
  SAYS("line 4: orders=abc");
  EQUAL(shapes_add_file(&shapes, "no/such/file"), TUNE_FAILED);
  SAYS("no/such/file: No such file");
  remove(list);
  shapes_free(&shapes);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  const int made = mkstemp(list);
  if (made < 0 || close(made)) return 1;
  RUN(defaults);
  RUN(fields);
  RUN(narrow);
  RUN(refused);
  RUN(files);
  return harness_end();
}
