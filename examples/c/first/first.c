/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <tilewright/tilewright.h>

enum { N = 304 };
static uint16_t a[N * N], b[N * N]; /* bf16 */
static float d[N * N];

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "%s\n", tw_last_error());
  exit(1);
}

int main(void) {
  for (int i = 0; i < N * N; i++) a[i] = 0x3F80, b[i] = 0x4000; /* 1 and 2 */

  tw_device* device; /* a GPU, or the CPU reference if there is none */
  if (tw_device_create(TW_DEVICE_CUDA, 0, &device) != TW_OK)
    check(tw_device_create(TW_DEVICE_HOST, 0, &device));
  tw_stream* stream;
  check(tw_stream_create(device, &stream));

  tw_gemm_desc desc; /* D = A B, all row-major; A and B are bf16 by default */
  check(tw_gemm_desc_init(&desc, sizeof desc));
  desc.m = desc.n = desc.k = N;
  desc.d_dtype = TW_DTYPE_F32;
  tw_plan* plan;
  check(tw_gemm_plan(device, &desc, &plan));

  tw_gemm_args args; /* device memory for the three matrices */
  check(tw_gemm_args_init(&args, sizeof args));
  check(tw_malloc(device, sizeof a, &args.a));
  check(tw_malloc(device, sizeof b, &args.b));
  check(tw_malloc(device, sizeof d, &args.d));

  check(tw_memcpy_to_device(stream, args.a, a, sizeof a));
  check(tw_memcpy_to_device(stream, args.b, b, sizeof b));
  check(tw_gemm_run(plan, stream, &args));
  check(tw_memcpy_to_host(stream, d, args.d, sizeof d));
  check(tw_stream_synchronize(stream));
  printf("D[0][0] = %g\n", d[0]); /* 608 */

  tw_plan_destroy(plan);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees its memory too */
}
