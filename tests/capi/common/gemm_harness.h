/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_GEMM_HARNESS_H
#define TILEWRIGHT_TESTS_GEMM_HARNESS_H
/* A small product with padded pitches: its operands, and a check of D. */

#include "tests/capi/common/plan_harness.h"

enum { kM = 70, kN = 88, kK = 200, kLda = 208, kLdb = 96, kLdc = 90, kLdd = 96 };

static inline uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline float from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float out;
  memcpy(&out, &bits, 4);
  return out;
}

/* Small integers: exact in bf16, and their sums are exact in f32. */
static inline float a_value(int i, int k) {
  return (float)((i * 3 + k * 5) % 7 - 3);
}
static inline float b_value(int k, int j) {
  return (float)((k * 2 + j * 11) % 9 - 4);
}
static inline float c_value(int i, int j) {
  return (float)((i + j * 3) % 5 - 2);
}

static inline tw_gemm_desc gemm_desc(void) {
  tw_gemm_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.d_dtype = TW_DTYPE_F32;
  desc.m = kM;
  desc.n = kN;
  desc.k = kK;
  desc.lda = kLda;
  desc.ldb = kLdb;
  desc.ldc = kLdc;
  desc.ldd = kLdd;
  return desc;
}

static uint16_t a[kM * kLda], b[kK * kLdb];
static float c[kM * kLdc], d[kM * kLdd];

static inline tw_gemm_args upload_all(const setup *s) {
  tw_gemm_args args;
  for (int i = 0; i < kM; ++i)
    for (int k = 0; k < kLda; ++k) a[i * kLda + k] = k < kK ? to_bf16(a_value(i, k)) : 0x7fc0;
  for (int k = 0; k < kK; ++k)
    for (int j = 0; j < kLdb; ++j) b[k * kLdb + j] = j < kN ? to_bf16(b_value(k, j)) : 0x7fc0;
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kLdc; ++j) c[i * kLdc + j] = c_value(i, j);
  OK(tw_gemm_args_init(&args, sizeof args));
  args.a = uploaded(s, a, sizeof a);
  args.b = uploaded(s, b, sizeof b);
  args.c = uploaded(s, c, sizeof c);
  args.d = allocated(s, sizeof d);
  return args;
}

/* Checks D after a run of `rows` rows; memory outside D must be unchanged. */
static inline void has_product(const setup *s, const tw_gemm_args *args, int rows) {
  int wrong = 0, touched = 0;
  download(s, d, args->d, sizeof d);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kLdd; ++j) {
      float sum = 0;
      if (i >= rows || j >= kN) {
        touched += d[i * kLdd + j] != 0;
        continue;
      }
      for (int k = 0; k < kK; ++k) sum += from_bf16(a[i * kLda + k]) * from_bf16(b[k * kLdb + j]);
      sum *= args->alpha;
      if (args->beta != 0) sum += args->beta * c[i * kLdc + j];
      wrong += d[i * kLdd + j] != sum;
    }
  EQUAL(wrong, 0);
  EQUAL(touched, 0);
}

#endif
