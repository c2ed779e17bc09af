/* SPDX-License-Identifier: Apache-2.0 */
/* Two layers of a model in fp8 (e4m3). Activations have a scale for each token and 128 elements of
 * k, weights a scale for each block of 128 x 128. The first product quantizes its result, so that
 * the second one reads fp8 and scales directly. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { TOKENS = 3, IN = 256, HIDDEN = 384, OUT = 128, BLOCK = 128 };

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

/* Device memory with a copy of `from`, or uninitialized if that is NULL; 0 means failure. */
static uint64_t memory(tw_device* device, tw_stream* stream, const void* from, size_t bytes) {
  uint64_t address = 0;
  if (tw_malloc(device, bytes, &address)) return 0;
  if (from && tw_memcpy_to_device(stream, address, from, bytes)) return 0;
  return address;
}

/* A TOKENS x k matrix times a k x n matrix of weights, stored as n rows of k elements. */
static tw_status describe(tw_gemm_desc* desc, int64_t n, int64_t k) {
  const tw_status status = tw_gemm_desc_init(desc, sizeof *desc);
  desc->a_dtype = TW_DTYPE_F8E4M3;
  desc->d_dtype = TW_DTYPE_F32;
  desc->b_order = TW_COLUMN_MAJOR;
  desc->m = TOKENS;
  desc->n = n;
  desc->k = k;
  desc->a_scale = TW_SCALE_1X128;
  desc->b_scale = TW_SCALE_128X128;
  desc->b_scale_order = TW_COLUMN_MAJOR; /* [n / 128][k / 128] */
  return status;
}

int main(void) {
  static uint8_t x[TOKENS * IN], up[HIDDEN * IN], down[OUT * HIDDEN]; /* e4m3 */
  static float x_scale[TOKENS * IN / BLOCK], up_scale[HIDDEN / BLOCK * IN / BLOCK];
  static float down_scale[OUT / BLOCK * HIDDEN / BLOCK], y[TOKENS * OUT];
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan *first = NULL, *second = NULL;
  tw_gemm_desc desc;
  tw_gemm_args args, next;

  for (int i = 0; i < TOKENS * IN; ++i) x[i] = 0x38;     /* 1 */
  for (int i = 0; i < HIDDEN * IN; ++i) up[i] = 0x40;    /* 2 */
  for (int i = 0; i < OUT * HIDDEN; ++i) down[i] = 0xb8; /* -1 */
  for (int i = 0; i < TOKENS * IN / BLOCK; ++i) x_scale[i] = 0.5f;
  for (int i = 0; i < HIDDEN / BLOCK * IN / BLOCK; ++i) up_scale[i] = 0.0625f;
  for (int i = 0; i < OUT / BLOCK * HIDDEN / BLOCK; ++i) down_scale[i] = 0.25f;
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();

  /* The first product: relu(x up), quantized with a scale for each token and 128 columns. The
   * scales of activations are column-major here: those of neighboring tokens are adjacent, as in
   * DeepGEMM. */
  if (describe(&desc, HIDDEN, IN)) return failed();
  desc.a_scale_order = TW_COLUMN_MAJOR;
  desc.activation = TW_ACTIVATION_RELU;
  desc.d_dtype = TW_DTYPE_F8E4M3;
  desc.d_quantize = TW_SCALE_1X128;
  desc.d_block_scale_order = TW_COLUMN_MAJOR;
  if (tw_gemm_plan(device, &desc, &first)) return failed();
  /* The second product: the result of the first one times down, in f32. */

  if (describe(&desc, OUT, HIDDEN)) return failed();
  desc.a_scale_order = TW_COLUMN_MAJOR;
  if (tw_gemm_plan(device, &desc, &second)) return failed();

  if (tw_gemm_args_init(&args, sizeof args) || tw_gemm_args_init(&next, sizeof next))
    return failed();
  args.a = memory(device, stream, x, sizeof x);
  args.a_scale = memory(device, stream, x_scale, sizeof x_scale);
  args.b = memory(device, stream, up, sizeof up);
  args.b_scale = memory(device, stream, up_scale, sizeof up_scale);
  args.d = next.a = memory(device, stream, NULL, TOKENS * HIDDEN);
  args.d_block_scale = next.a_scale =
      memory(device, stream, NULL, sizeof(float) * TOKENS * HIDDEN / BLOCK);
  next.b = memory(device, stream, down, sizeof down);
  next.b_scale = memory(device, stream, down_scale, sizeof down_scale);
  next.d = memory(device, stream, NULL, sizeof y);

  if (tw_gemm_run(first, stream, &args) || tw_gemm_run(second, stream, &next)) return failed();
  if (tw_memcpy_to_host(stream, y, next.d, sizeof y)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  /* 256 * 1 * 0.5 * 2 * 0.0625 = 16, and 384 * 16 * -1 * 0.25 = -1536. */
  printf("%g\n", (double)y[0]);

  tw_plan_destroy(first);
  tw_plan_destroy(second);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
  return y[0] < -1536.5f || y[0] > -1535.5f;
}
