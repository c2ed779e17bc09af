/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tilewright/tilewright.h>
static uint16_t a[304 * 304], b[304 * 304]; /* bf16 */
static float d[304 * 304];
int main(void) {
  tw_device* device;
  tw_stream* stream;
  tw_plan* plan;
  tw_gemm_desc desc;
  tw_gemm_args args;
  for (int i = 0; i < 304 * 304; i++) a[i] = 0x3F80, b[i] = 0x4000; /* 1 and 2 */
  if (tw_gemm_desc_init(&desc, sizeof desc) || tw_gemm_args_init(&args, sizeof args)) return 1;
  desc.m = desc.n = desc.k = 304, desc.d_dtype = TW_DTYPE_F32;
  if ((tw_device_create(TW_DEVICE_CUDA, 0, &device) && /* no GPU? Say so; the CPU, then. */
       (puts(tw_last_error()), tw_device_create(TW_DEVICE_HOST, 0, &device))) ||
      tw_gemm_plan(device, &desc, &plan) || tw_stream_create(device, &stream) ||
      tw_malloc(device, sizeof a, &args.a) || tw_malloc(device, sizeof b, &args.b) ||
      tw_malloc(device, sizeof d, &args.d) || tw_memcpy_to_device(stream, args.a, a, sizeof a) ||
      tw_memcpy_to_device(stream, args.b, b, sizeof b) || tw_gemm_run(plan, stream, &args) ||
      tw_memcpy_to_host(stream, d, args.d, sizeof d) || tw_stream_synchronize(stream))
    return fprintf(stderr, "%s\n", tw_last_error()), 1;
  printf("D[0][0] = %g\n", d[0]); /* 608 */
  tw_plan_destroy(plan), tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
}
