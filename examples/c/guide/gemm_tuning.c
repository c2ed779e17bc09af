/* SPDX-License-Identifier: Apache-2.0 */
/* One plan for fixed weights and up to 64 tokens, whose kernels are chosen by measurement. The
 * results are text: a program can store it in a file and load it at its next start instead of
 * measuring again. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { TOKENS = 64, IN = 256, OUT = 128, KNOWN = 8 };

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  static uint16_t x[TOKENS * IN], w[OUT * IN]; /* bf16 */
  static float y[TOKENS * OUT];
  static char text[4096];
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_gemm_tuning* tuning = NULL;
  tw_plan* plan = NULL;
  tw_gemm_desc desc;
  tw_gemm_args args;
  tw_gemm_candidate known[KNOWN];
  int32_t count = 0;

  for (int i = 0; i < TOKENS * IN; ++i) x[i] = 0x3F80; /* 1 */
  for (int i = 0; i < OUT * IN; ++i) w[i] = 0x4000;    /* 2 */
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();
  if (tw_gemm_desc_init(&desc, sizeof desc) || tw_gemm_args_init(&args, sizeof args))
    return failed();
  desc.m = TOKENS;
  desc.n = OUT;
  desc.k = IN;
  desc.b_order = TW_COLUMN_MAJOR; /* weights as OUT rows of IN elements */
  desc.d_dtype = TW_DTYPE_F32;
  desc.a_alignment = desc.b_alignment = 16; /* promise: no fallback kernel is prepared */
  if (tw_malloc(device, sizeof x, &args.a)) return failed();
  if (tw_malloc(device, sizeof w, &args.b)) return failed();
  if (tw_malloc(device, sizeof y, &args.d)) return failed();
  if (tw_memcpy_to_device(stream, args.a, x, sizeof x)) return failed();
  if (tw_memcpy_to_device(stream, args.b, w, sizeof w)) return failed();

  /* The candidates, best first by the cost model. tw_gemm_plan_candidate() would force one. */
  for (int i = 0; i < KNOWN; ++i) tw_gemm_candidate_init(&known[i], sizeof known[i]);
  if (tw_gemm_candidates(device, &desc, known, KNOWN, &count)) return failed();
  for (int i = 0; i < count && i < KNOWN; ++i)
    printf("%s: %.1f us\n", known[i].text, known[i].microseconds);

  /* Measure them for the numbers of tokens that matter. */
  if (tw_gemm_tuning_create(&tuning)) return failed();
  for (args.m = 16; args.m <= TOKENS; args.m *= 2)
    if (tw_gemm_tune(tuning, stream, &desc, &args, NULL, NULL)) return failed();
  if (tw_gemm_tuning_format(tuning, text, sizeof text, NULL)) return failed();
  printf("\n%s\n", text);

  /* At the next start: tw_gemm_tuning_load(tuning, text). The plan explains what it uses of it. */
  if (tw_gemm_plan_tuned(device, &desc, tuning, &plan)) return failed();
  if (tw_plan_explain(plan, text, sizeof text, NULL)) return failed();
  printf("%s\n", text);
  args.m = 48; /* any m up to desc.m; the plan has a kernel for each */
  if (tw_gemm_run(plan, stream, &args)) return failed();
  if (tw_memcpy_to_host(stream, y, args.d, sizeof y)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  printf("y[47][127] = %g\n", y[47 * OUT + 127]); /* 512 */

  tw_plan_destroy(plan);
  tw_gemm_tuning_destroy(tuning);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
  return y[47 * OUT + 127] != 512;
}
