/* SPDX-License-Identifier: Apache-2.0 */
/* An outside program: gathers two rows on the host device and checks the result. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, tw_last_error());
  return 1;
}

int main(void) {
  const float table[3][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {10, 11, 12, 13, 14, 15, 16, 17}, {20}};
  const int32_t index[2] = {1, 0};
  float packed[2][8];
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan* plan = NULL;
  tw_rows_desc desc;
  tw_rows_args args;
  uint64_t memory = 0;

  if (tw_device_create(TW_DEVICE_HOST, 0, &device) != TW_OK) return failed("device");
  if (tw_stream_create(device, &stream) != TW_OK) return failed("stream");
  if (tw_malloc(device, 1024, &memory) != TW_OK) return failed("malloc");
  tw_rows_desc_init(&desc, sizeof desc);
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = 3;
  desc.columns = 8;
  desc.count = 2;
  if (tw_gather_plan(device, &desc, &plan) != TW_OK) return failed("plan");
  tw_rows_args_init(&args, sizeof args);
  args.table = memory;
  args.index = memory + 256;
  args.packed = memory + 512;
  tw_memcpy_to_device(stream, args.table, table, sizeof table);
  tw_memcpy_to_device(stream, args.index, index, sizeof index);
  if (tw_gather_run(plan, stream, &args) != TW_OK) return failed("run");
  tw_memcpy_to_host(stream, packed, args.packed, sizeof packed);
  if (tw_stream_synchronize(stream) != TW_OK) return failed("synchronize");
  tw_plan_destroy(plan);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
  if (memcmp(packed[0], table[1], sizeof *table) || memcmp(packed[1], table[0], sizeof *table)) {
    printf("wrong rows\n");
    return 1;
  }
  printf("tilewright %s: two rows gathered\n", tw_version_string());
  return 0;
}
