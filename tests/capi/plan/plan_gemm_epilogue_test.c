/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues of tw_gemm_: valid values, refusals, and one of each kind with exact results. */
#include "tests/capi/common/gemm_harness.h"

static float bias[kN], scale[kM];

static float product_of(int i, int j) {
  float sum = 0;
  for (int k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(k, j);
  return sum;
}

static void values(void) {
  EQUAL(TW_PER_NONE, 0);
  EQUAL(TW_PER_TENSOR, 1);
  EQUAL(TW_PER_ROW, 2);
  EQUAL(TW_PER_COLUMN, 3);
  EQUAL(TW_ACTIVATION_NONE, 0);
  EQUAL(TW_ACTIVATION_RELU, 1);
  EQUAL(TW_ACTIVATION_GELU, 2);
  EQUAL(TW_ACTIVATION_GELU_TANH, 3);
  EQUAL(TW_ACTIVATION_SILU, 4);
  EQUAL(TW_GATE_NONE, 0);
  EQUAL(TW_GATE_HALVES, 1);
  EQUAL(TW_GATE_INTERLEAVED, 2);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_gemm_desc desc;
  tw_plan *plan;
#define BAD(argument, change)                                                           \
  do {                                                                                  \
    desc = gemm_desc();                                                                 \
    change;                                                                             \
    plan = (tw_plan *)&plan;                                                            \
    FAILS(TW_ERROR_INVALID_ARGUMENT, (argument), tw_gemm_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                                \
  } while (0)
  BAD("bias", desc.bias = 4);
  BAD("bias", desc.bias = -1);
  BAD("bias_dtype", desc.bias_dtype = TW_DTYPE_F32); /* without a bias */
  BAD("bias_dtype", (desc.bias = TW_PER_ROW, desc.bias_dtype = -5));
  BAD("activation", desc.activation = 5);
  BAD("activation", desc.activation = INT32_MIN);
  BAD("gate", desc.gate = 3);
  BAD("d_factor", desc.d_factor = 9);
  BAD("n", (desc.gate = TW_GATE_HALVES, desc.n = kN - 1));
  BAD("ldd", (desc.gate = TW_GATE_HALVES, desc.ldd = kN / 2 - 1));
  BAD("ldc", (desc.gate = TW_GATE_HALVES, desc.ldc = kN - 1));
#undef BAD
  close_setup(&s);
}

/* relu(A B + bias by column) * scale by row, and its amax; then gated by the other half. Small
   integers and powers of two: every step is exact. */
static void exact_results(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s);
  for (int j = 0; j < kN; ++j) bias[j] = (float)(j % 13 - 6);
  for (int i = 0; i < kM; ++i) scale[i] = i % 3 ? 0.5f : -2.0f;
  args.bias = uploaded(&s, bias, sizeof bias);
  args.d_factor = uploaded(&s, scale, sizeof scale);
  args.amax = allocated(&s, 4);
  for (int gate = TW_GATE_NONE; gate <= TW_GATE_INTERLEAVED; ++gate) {
    const int columns = gate == TW_GATE_NONE ? kN : kN / 2;
    tw_gemm_desc desc = gemm_desc();
    tw_plan *plan = NULL;
    static char text[4096];
    int wrong = 0;
    float largest = 0, amax = 0;
    desc.bias = TW_PER_COLUMN;
    desc.activation = TW_ACTIVATION_RELU;
    desc.gate = gate;
    desc.d_factor = TW_PER_ROW;
    desc.flags |= TW_GEMM_AMAX;
    OK(tw_gemm_plan(s.device, &desc, &plan));
    OK(tw_plan_explain(plan, text, sizeof text, NULL));
    CHECK(strstr(text, "epilogue: bias per column in f32, relu") != NULL);
    OK(tw_memcpy_to_device(s.stream, args.amax, &amax, 4));
    OK(tw_gemm_run(plan, s.stream, &args));
    download(&s, d, args.d, sizeof d);
    download(&s, &amax, args.amax, sizeof amax);
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < columns; ++j) {
        const int first = gate == TW_GATE_INTERLEAVED ? 2 * j : j;
        const int second = gate == TW_GATE_INTERLEAVED ? 2 * j + 1 : j + kN / 2;
        float wanted = product_of(i, first) + bias[first];
        if (wanted < 0) wanted = 0;
        if (gate != TW_GATE_NONE) wanted *= product_of(i, second) + bias[second];
        wanted *= scale[i];
        wrong += d[i * kLdd + j] != wanted;
        if (wanted > largest || -wanted > largest) largest = wanted < 0 ? -wanted : wanted;
      }
    EQUAL(wrong, 0);
    CHECK(amax == largest && largest > 0);
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

static void runs(void) {
  setup s = open_setup();
  tw_gemm_args args = upload_all(&s), bad;
  tw_gemm_desc desc = gemm_desc();
  tw_plan *plan = NULL;
  desc.bias = TW_PER_ROW;
  desc.d_factor = TW_PER_TENSOR;
  desc.flags |= TW_GEMM_AMAX;
  args.bias = uploaded(&s, bias, sizeof bias);
  args.amax = allocated(&s, 4);
  args.d_factor_value = 0.25f; /* without an address */
  OK(tw_gemm_plan(s.device, &desc, &plan));
  OK(tw_gemm_run(plan, s.stream, &args));
#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = args;                                                     \
    change;                                                         \
    FAILS((status), (argument), tw_gemm_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "bias", bad.bias = 0);
  BAD(TW_ERROR_MISALIGNED, "bias", bad.bias += 2);
  BAD(TW_ERROR_OVERLAP, "d", bad.bias = bad.d);
  BAD(TW_ERROR_MISALIGNED, "d_factor", (bad.d_factor = bad.bias + 1, bad.d_factor_value = 1));
  BAD(TW_ERROR_INVALID_ARGUMENT, "d_factor_value", bad.d_factor = bad.bias);
  BAD(TW_ERROR_INVALID_ARGUMENT, "amax", bad.amax = 0);
  BAD(TW_ERROR_OVERLAP, "d", bad.amax = bad.d + 16);
  BAD(TW_ERROR_OVERLAP, "amax", bad.amax = bad.a);
  BAD(TW_ERROR_OVERLAP, "amax", bad.amax = bad.bias + 4);
#undef BAD
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(values);
  RUN(descriptions);
  RUN(exact_results);
  RUN(runs);
  return harness_end();
}
