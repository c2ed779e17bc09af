/* SPDX-License-Identifier: Apache-2.0 */
/* One plan, run many times: a gather whose number of indices changes from run to run. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { ROWS = 100, COLUMNS = 32, MOST = 8 };

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  static float table[ROWS][COLUMNS], packed[MOST][COLUMNS];
  const int32_t index[MOST] = {7, 7, 99, 0, 50, 1, 2, 3};
  char text[1024];
  int wrong = 0;
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan* plan = NULL;
  tw_rows_desc desc;
  tw_rows_args args;

  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) table[i][j] = (float)(i * 1000 + j);
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();

  /* The description holds what stays the same. `count` is the largest number of indices. */
  if (tw_rows_desc_init(&desc, sizeof desc)) return failed();
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = ROWS;
  desc.columns = COLUMNS;
  desc.count = MOST;
  if (tw_gather_plan(device, &desc, &plan)) return failed();
  if (tw_plan_explain(plan, text, sizeof text, NULL)) return failed();
  printf("%s\n", text);

  /* The arguments may change with each run. A run allocates nothing and does not wait. */
  if (tw_rows_args_init(&args, sizeof args)) return failed();
  if (tw_malloc(device, sizeof table, &args.table)) return failed();
  if (tw_malloc(device, sizeof index, &args.index)) return failed();
  if (tw_malloc(device, sizeof packed, &args.packed)) return failed();
  if (tw_memcpy_to_device(stream, args.table, table, sizeof table)) return failed();
  if (tw_memcpy_to_device(stream, args.index, index, sizeof index)) return failed();
  for (args.count = 1; args.count <= MOST; ++args.count)
    if (tw_gather_run(plan, stream, &args)) return failed();
  if (tw_memcpy_to_host(stream, packed, args.packed, sizeof packed)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  for (int i = 0; i < MOST; ++i)
    for (int j = 0; j < COLUMNS; ++j) wrong += packed[i][j] != table[index[i]][j];
  printf("%d wrong\n", wrong);

  tw_plan_destroy(plan);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
  return wrong != 0;
}
