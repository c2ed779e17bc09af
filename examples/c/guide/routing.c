/* SPDX-License-Identifier: Apache-2.0 */
/* The router of a mixture of experts as in DeepSeek-V3. Then a gather puts the tokens in the order
 * of their experts, as a grouped matrix product reads them. */
#include <stdio.h>
#include <tilewright/tilewright.h>

enum { TOKENS = 6, EXPERTS = 16, TOP_K = 4, WIDTH = 32, PAIRS = TOKENS * TOP_K };

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  static float logits[TOKENS][EXPERTS], bias[EXPERTS], tokens[TOKENS][WIDTH], rows[PAIRS][WIDTH];
  int32_t offsets[EXPERTS + 1], order[PAIRS];
  int wrong = 0;
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan *route = NULL, *gather = NULL;
  tw_route_desc desc;
  tw_route_args args;
  tw_rows_desc rows_desc;
  tw_rows_args rows_args;

  for (int t = 0; t < TOKENS; ++t)
    for (int e = 0; e < EXPERTS; ++e) logits[t][e] = (float)((t * 7 + e * 5) % 11) - 5;
  for (int e = 0; e < EXPERTS; ++e) bias[e] = e % 3 == 0 ? 0.1f : 0.0f;
  for (int t = 0; t < TOKENS; ++t)
    for (int i = 0; i < WIDTH; ++i) tokens[t][i] = (float)(100 * t + i);
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();

  if (tw_route_desc_init(&desc, sizeof desc)) return failed();
  desc.dtype = TW_DTYPE_F32;
  desc.tokens = TOKENS, desc.experts = EXPERTS, desc.top_k = TOP_K;
  desc.score = TW_ROUTE_SIGMOID;
  desc.groups = 4, desc.top_groups = 2, desc.group_score = TW_ROUTE_GROUP_TOP2;
  desc.flags = TW_ROUTE_RENORMALIZE;
  desc.scale = 2.5f;
  if (tw_route_plan(device, &desc, &route)) return failed();
  if (tw_rows_desc_init(&rows_desc, sizeof rows_desc)) return failed();
  rows_desc.dtype = TW_DTYPE_F32;
  rows_desc.table_rows = TOKENS, rows_desc.columns = WIDTH, rows_desc.count = PAIRS;
  if (tw_gather_plan(device, &rows_desc, &gather)) return failed();

  if (tw_route_args_init(&args, sizeof args)) return failed();
  if (tw_malloc(device, sizeof logits, &args.logits)) return failed();
  if (tw_malloc(device, sizeof bias, &args.bias)) return failed();
  if (tw_malloc(device, sizeof(float) * PAIRS, &args.weights)) return failed();
  if (tw_malloc(device, sizeof offsets, &args.offsets)) return failed();
  if (tw_malloc(device, sizeof order, &args.order)) return failed();
  if (tw_malloc(device, sizeof order, &args.order_tokens)) return failed();
  if (tw_rows_args_init(&rows_args, sizeof rows_args)) return failed();
  if (tw_malloc(device, sizeof tokens, &rows_args.table)) return failed();
  if (tw_malloc(device, sizeof rows, &rows_args.packed)) return failed();
  rows_args.index = args.order_tokens;
  if (tw_memcpy_to_device(stream, args.logits, logits, sizeof logits)) return failed();
  if (tw_memcpy_to_device(stream, args.bias, bias, sizeof bias)) return failed();
  if (tw_memcpy_to_device(stream, rows_args.table, tokens, sizeof tokens)) return failed();

  /* No wait is needed between the two: the stream orders the gather after the routing. */
  if (tw_route_run(route, stream, &args)) return failed();
  if (tw_gather_run(gather, stream, &rows_args)) return failed();
  if (tw_memcpy_to_host(stream, offsets, args.offsets, sizeof offsets)) return failed();
  if (tw_memcpy_to_host(stream, order, args.order, sizeof order)) return failed();
  if (tw_memcpy_to_host(stream, rows, rows_args.packed, sizeof rows)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  for (int e = 0; e < EXPERTS; ++e)
    printf("expert %2d: rows %d to %d\n", e, offsets[e], offsets[e + 1] - 1);
  for (int i = 0; i < PAIRS; ++i) wrong += rows[i][0] != tokens[order[i] / TOP_K][0];
  printf("%d wrong\n", wrong + (offsets[EXPERTS] != PAIRS));

  tw_plan_destroy(gather);
  tw_plan_destroy(route);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
  return wrong != 0;
}
