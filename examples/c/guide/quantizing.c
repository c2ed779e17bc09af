/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizes activations to e4m3 with a scale for each 128 elements of a row, and dequantizes them
 * again. The scales are column-major, as matrix products with such scales read them. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { ROWS = 6, COLUMNS = 300, GROUPS = 3, LEADING = 8 };

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  static float values[ROWS][COLUMNS], again[ROWS][COLUMNS], scales[GROUPS][LEADING];
  int wrong = 0;
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan *there = NULL, *back = NULL;
  tw_quantize_desc desc;
  tw_quantize_args args, back_args;

  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j)
      values[i][j] = (float)((i * 13 + j * 7) % 29 - 14) * (float)(i + 1);
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();

  if (tw_quantize_desc_init(&desc, sizeof desc)) return failed();
  desc.src_dtype = TW_DTYPE_F32, desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.rows = ROWS, desc.columns = COLUMNS;
  desc.scale = TW_SCALE_1X128;
  desc.scale_order = TW_COLUMN_MAJOR, desc.scale_ld = LEADING;
  if (tw_quantize_plan(device, &desc, &there)) return failed();
  /* the types select the direction */
  desc.src_dtype = TW_DTYPE_F8E4M3, desc.dst_dtype = TW_DTYPE_F32;
  if (tw_quantize_plan(device, &desc, &back)) return failed();

  if (tw_quantize_args_init(&args, sizeof args)) return failed();
  if (tw_quantize_args_init(&back_args, sizeof back_args)) return failed();
  if (tw_malloc(device, sizeof values, &args.src)) return failed();
  if (tw_malloc(device, sizeof values / 4, &args.dst)) return failed();
  if (tw_malloc(device, sizeof scales, &args.scale)) return failed();
  if (tw_malloc(device, sizeof again, &back_args.dst)) return failed();
  back_args.src = args.dst;
  back_args.scale = args.scale;
  if (tw_memcpy_to_device(stream, args.src, values, sizeof values)) return failed();

  if (tw_quantize_run(there, stream, &args)) return failed();
  if (tw_quantize_run(back, stream, &back_args)) return failed();
  if (tw_memcpy_to_host(stream, scales, args.scale, sizeof scales)) return failed();
  if (tw_memcpy_to_host(stream, again, back_args.dst, sizeof again)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  for (int i = 0; i < ROWS; ++i)
    printf("row %d: scales %g, %g and %g\n", i, (double)scales[0][i], (double)scales[1][i],
           (double)scales[2][i]);
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) {
      /* e4m3 has 3 bits of mantissa: an error of 1/16 at most, plus the rounding of the scale. */
      const float error = again[i][j] - values[i][j];
      const float bound = (values[i][j] < 0 ? -values[i][j] : values[i][j]) / 15;
      wrong += error > bound || error < -bound;
    }
  printf("%d wrong\n", wrong);

  tw_plan_destroy(there);
  tw_plan_destroy(back);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
  return wrong != 0;
}
