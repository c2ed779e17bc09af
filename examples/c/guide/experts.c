/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a mixture of experts: a routing, a gated product of the tokens by index, and a product
 * whose rows are added to their tokens with the routing's weights. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { TOKENS = 6, EXPERTS = 4, TOP_K = 2, PAIRS = TOKENS * TOP_K, WIDTH = 16, INNER = 8 };

static float logits[TOKENS][EXPERTS], weights[PAIRS], sums[TOKENS][WIDTH];
static uint16_t tokens[TOKENS][WIDTH], up[EXPERTS][WIDTH][2 * INNER], down[EXPERTS][INNER][WIDTH];
static int32_t ids[PAIRS];

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

/* Numbers that bf16 holds. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)(bits >> 16);
}
static float to_float(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static void draw(uint16_t* values, int count, int step) {
  for (int i = 0; i < count; ++i) values[i] = to_bf16((float)(i * step % 13 - 6) / 4);
}

/* The layer of token `t` by loops, for its column `c`. */
static float layer(int t, int c) {
  float sum = 0;
  for (int slot = 0; slot < TOP_K; ++slot) {
    const int e = ids[t * TOP_K + slot];
    for (int i = 0; i < INNER; ++i) {
      float gate = 0, linear = 0;
      for (int w = 0; w < WIDTH; ++w) {
        gate += to_float(tokens[t][w]) * to_float(up[e][w][i]);
        linear += to_float(tokens[t][w]) * to_float(up[e][w][INNER + i]);
      }
      sum +=
          weights[t * TOP_K + slot] * gate / (1 + expf(-gate)) * linear * to_float(down[e][i][c]);
    }
  }
  return sum;
}

static int upload(tw_device* device, tw_stream* stream, const void* data, size_t bytes,
                  uint64_t* address) {
  return tw_malloc(device, bytes, address) || tw_memcpy_to_device(stream, *address, data, bytes);
}

int main(void) {
  int wrong = 0;
  tw_device* device = NULL;
  tw_stream* stream = NULL;
  tw_plan *route = NULL, *first = NULL, *second = NULL;
  tw_plan_info info;
  tw_route_desc route_desc;
  tw_route_args route_args;
  tw_grouped_desc desc;
  tw_grouped_args gated, added;

  for (int t = 0; t < TOKENS; ++t)
    for (int e = 0; e < EXPERTS; ++e) logits[t][e] = (float)((t * 7 + e * 5) % 11) / 4;
  draw(&tokens[0][0], TOKENS * WIDTH, 5);
  draw(&up[0][0][0], EXPERTS * WIDTH * 2 * INNER, 7);
  draw(&down[0][0][0], EXPERTS * INNER * WIDTH, 3);
  if (tw_device_create(TW_DEVICE_HOST, 0, &device)) return failed();
  if (tw_stream_create(device, &stream)) return failed();

  if (tw_route_desc_init(&route_desc, sizeof route_desc)) return failed();
  route_desc.dtype = TW_DTYPE_F32;
  route_desc.tokens = TOKENS, route_desc.experts = EXPERTS, route_desc.top_k = TOP_K;
  route_desc.flags = TW_ROUTE_RENORMALIZE;
  if (tw_route_plan(device, &route_desc, &route)) return failed();

  /* Row r is the token of the pair order[r], and becomes silu(gate) * linear. */
  if (tw_grouped_desc_init(&desc, sizeof desc)) return failed();
  desc.grouping = TW_GROUPING_OFFSETS;
  desc.groups = EXPERTS;
  desc.m = PAIRS, desc.n = 2 * INNER, desc.k = WIDTH;
  desc.flags = TW_GROUPED_GATHER;
  desc.a_count = TOKENS, desc.a_divisor = TOP_K;
  desc.activation = TW_ACTIVATION_SILU;
  desc.gate = TW_GATE_HALVES;
  if (tw_grouped_plan(device, &desc, &first)) return failed();

  /* Row r goes to the token of the pair order[r], which is the sum of its pairs. */
  if (tw_grouped_desc_init(&desc, sizeof desc)) return failed();
  desc.d_dtype = TW_DTYPE_F32;
  desc.grouping = TW_GROUPING_OFFSETS;
  desc.groups = EXPERTS;
  desc.m = PAIRS, desc.n = WIDTH, desc.k = INNER;
  desc.flags = TW_GROUPED_SCATTER | TW_GROUPED_WEIGHT_BY_INDEX | TW_GROUPED_INVERSE;
  desc.combine = TW_GROUPED_ADD;
  desc.d_count = TOKENS, desc.d_divisor = TOP_K;
  if (tw_grouped_plan(device, &desc, &second)) return failed();

  if (tw_route_args_init(&route_args, sizeof route_args)) return failed();
  if (tw_grouped_args_init(&gated, sizeof gated)) return failed();
  if (tw_grouped_args_init(&added, sizeof added)) return failed();
  if (upload(device, stream, logits, sizeof logits, &route_args.logits)) return failed();
  if (tw_malloc(device, sizeof ids, &route_args.ids)) return failed();
  if (tw_malloc(device, sizeof weights, &route_args.weights)) return failed();
  if (tw_malloc(device, sizeof(int32_t) * (EXPERTS + 1), &route_args.offsets)) return failed();
  if (tw_malloc(device, sizeof(int32_t) * PAIRS, &route_args.order)) return failed();
  if (tw_malloc(device, sizeof(int32_t) * PAIRS, &route_args.inverse)) return failed();
  if (upload(device, stream, tokens, sizeof tokens, &gated.a)) return failed();
  if (upload(device, stream, up, sizeof up, &gated.b)) return failed();
  if (tw_malloc(device, sizeof(uint16_t) * PAIRS * INNER, &gated.d)) return failed();
  gated.groups = added.groups = route_args.offsets;
  gated.a_rows = added.d_rows = route_args.order;
  added.a = gated.d;
  if (upload(device, stream, down, sizeof down, &added.b)) return failed();
  if (tw_malloc(device, sizeof sums, &added.d)) return failed();
  added.row_weights = route_args.weights;
  added.inverse = route_args.inverse;
  if (tw_plan_info_init(&info, sizeof info)) return failed();
  if (tw_plan_get_info(second, &info)) return failed();
  if (tw_malloc(device, info.workspace_bytes, &added.workspace)) return failed();
  added.workspace_bytes = info.workspace_bytes;

  if (tw_route_run(route, stream, &route_args)) return failed();
  if (tw_grouped_run(first, stream, &gated)) return failed();
  if (tw_grouped_run(second, stream, &added)) return failed();
  if (tw_memcpy_to_host(stream, ids, route_args.ids, sizeof ids)) return failed();
  if (tw_memcpy_to_host(stream, weights, route_args.weights, sizeof weights)) return failed();
  if (tw_memcpy_to_host(stream, sums, added.d, sizeof sums)) return failed();
  if (tw_stream_synchronize(stream)) return failed();
  for (int t = 0; t < TOKENS; ++t)
    for (int c = 0; c < WIDTH; ++c) wrong += fabsf(sums[t][c] - layer(t, c)) > 0.25f;
  printf("token 0 goes to the experts %d and %d\n%d wrong\n", ids[0], ids[1], wrong);

  tw_plan_destroy(second);
  tw_plan_destroy(first);
  tw_plan_destroy(route);
  tw_stream_destroy(stream);
  tw_device_destroy(device); /* frees the memory */
  return wrong != 0;
}
