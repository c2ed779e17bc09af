/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a mixture of experts in bf16, in three runs:
 *   1. The routing chooses each token's experts and sorts the (token, expert) pairs by expert.
 *   2. A gated grouped product reads the tokens by index.
 *   3. A grouped product weights its rows by the routing's weights and adds up each token's rows,
 *      in a fixed order.
 * The three runs are captured into a graph, which is launched again with other logits.
 *
 *     moe_layer [host | cuda] [FIRST COUNT]
 *
 * Without a device it uses a GPU if there is one, else the CPU reference. FIRST and COUNT select
 * the experts of this rank (expert parallelism): the program computes their part of the layer, and
 * the ranks' results add up to the layer. Some tokens are checked by plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { REPLAYS = 3, CHECKED_TOKENS = 6, TIMED_RUNS = 20 };

struct sizes {
  int64_t tokens, experts, top_k, width, inner;
  int64_t first, local; /* the experts of this rank */
};
static int64_t pairs(const struct sizes* n) {
  return n->tokens * n->top_k;
}

/* Host memory: the inputs, and the results that are checked. */
struct host_data {
  float *logits, *weights, *out;
  uint16_t *tokens, *up, *down; /* bf16; `up` has a 2 INNER x WIDTH matrix per local expert */
  int32_t *map, *ids;
};

static void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "%s\n", tw_last_error());
  exit(1);
}

static void* allocate(int64_t count, size_t size) {
  void* memory = calloc((size_t)count, size);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %lld elements\n", (long long)count);
    exit(1);
  }
  return memory;
}

/* Pseudo-random numbers, the same in every run. */
static uint32_t next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

/* bf16 is the upper half of an f32. */
static float to_float(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Multiples of `step` from -8 * step to 8 * step, which are exact in bf16. */
static uint16_t* draw(int64_t count, float step) {
  uint16_t* values = allocate(count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    const float value = (float)((int)(next_number() % 17) - 8) * step;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    values[i] = (uint16_t)(bits >> 16);
  }
  return values;
}

static struct host_data make_data(const struct sizes* n) {
  struct host_data h;
  h.logits = allocate(n->tokens * n->experts, sizeof *h.logits);
  h.weights = allocate(pairs(n), sizeof *h.weights), h.ids = allocate(pairs(n), sizeof *h.ids);
  h.out = allocate(n->tokens * n->width, sizeof *h.out);
  h.map = allocate(n->experts, sizeof *h.map);
  /* Small weights keep the layer's values near 1 at every width. */
  h.tokens = draw(n->tokens * n->width, 0.125f);
  h.up = draw(n->local * 2 * n->inner * n->width, 0.0078125f);
  h.down = draw(n->local * n->width * n->inner, 0.0078125f);
  for (int64_t e = 0; e < n->experts; e++) {
    const int mine = e >= n->first && e < n->first + n->local;
    h.map[e] = mine ? (int32_t)(e - n->first) : -1;
  }
  return h;
}

static void free_data(struct host_data* h) {
  free(h->logits), free(h->weights), free(h->out), free(h->tokens);
  free(h->up), free(h->down), free(h->map), free(h->ids);
}

struct layer {
  tw_plan *route, *up, *down;
  tw_route_args routing;
  tw_grouped_args gated, added;
};

/* [plans] */
static void plan_routing(tw_device* device, const struct sizes* n, tw_plan** plan) {
  tw_route_desc desc;
  check(tw_route_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.tokens = n->tokens, desc.experts = n->experts, desc.top_k = n->top_k;
  desc.score = TW_ROUTE_SOFTMAX;
  desc.flags = TW_ROUTE_RENORMALIZE; /* the weights of a token add up to 1 */
  desc.local_experts = n->local;
  check(tw_route_plan(device, &desc, plan));
}

/* Common to both products: a group of rows per local expert; a row is a (token, expert) pair. */
static void describe_product(const struct sizes* n, tw_grouped_desc* desc) {
  check(tw_grouped_desc_init(desc, sizeof *desc));
  desc->grouping = TW_GROUPING_OFFSETS; /* written by the routing */
  desc->group_count = n->local;
  desc->m = pairs(n);
  desc->b_order = TW_COLUMN_MAJOR; /* B^T with k contiguous, which the fast kernels need */
  desc->a_alignment = desc->b_alignment = desc->d_alignment = 256; /* what tw_malloc() guarantees */
}

static void plan_products(tw_device* device, const struct sizes* n, tw_plan** up, tw_plan** down) {
  tw_grouped_desc desc;
  /* inner[r] = silu(x W) * (x V), where x is the token of pair order[r], and W and V are the halves
   * of its expert's matrix. */
  describe_product(n, &desc);
  desc.n = 2 * n->inner, desc.k = n->width;
  desc.flags = TW_GROUPED_GATHER;
  desc.a_count = n->tokens, desc.a_divisor = n->top_k; /* pair p belongs to token p / top_k */
  desc.activation = TW_ACTIVATION_SILU;
  desc.gate = TW_GATE_HALVES;
  check(tw_grouped_plan(device, &desc, up));

  /* out[t] = sum of weight[p] * (inner[r] U) over the pairs p = order[r] of token t. */
  describe_product(n, &desc);
  desc.n = n->width, desc.k = n->inner;
  desc.d_dtype = TW_DTYPE_F32;
  desc.flags = TW_GROUPED_SCATTER | TW_GROUPED_ROW_WEIGHT_BY_INDEX | TW_GROUPED_INVERSE;
  desc.combine = TW_GROUPED_COMBINE_SUM;
  desc.d_count = n->tokens, desc.d_divisor = n->top_k;
  check(tw_grouped_plan(device, &desc, down));
}
/* [plans] */

static uint64_t reserve(tw_device* device, int64_t count, size_t size) {
  uint64_t address;
  check(tw_malloc(device, (uint64_t)count * size, &address));
  return address;
}

static uint64_t upload(tw_device* device, tw_stream* stream, const void* data, int64_t count,
                       size_t size) {
  const uint64_t address = reserve(device, count, size);
  check(tw_memcpy_to_device(stream, address, data, (uint64_t)count * size));
  return address;
}

/* [workspace] */
/* The runs are ordered by the stream, so that they can share one workspace. */
static void share_workspace(tw_device* device, struct layer* layer) {
  tw_plan* const plans[] = {layer->route, layer->up, layer->down};
  uint64_t bytes = 0, workspace = 0;
  for (int i = 0; i < 3; i++) {
    tw_plan_info info;
    check(tw_plan_info_init(&info, sizeof info));
    check(tw_plan_get_info(plans[i], &info));
    if (info.workspace_bytes > bytes) bytes = info.workspace_bytes;
  }
  check(tw_malloc(device, bytes, &workspace)); /* 0 bytes: address 0 */
  layer->routing.workspace = layer->gated.workspace = layer->added.workspace = workspace;
  layer->routing.workspace_bytes = bytes;
  layer->gated.workspace_bytes = layer->added.workspace_bytes = bytes;
}
/* [workspace] */

static void give_memory(tw_device* device, tw_stream* stream, const struct sizes* n,
                        const struct host_data* h, struct layer* layer) {
  tw_route_args* routing = &layer->routing;
  tw_grouped_args *gated = &layer->gated, *added = &layer->added;
  check(tw_route_args_init(routing, sizeof *routing));
  check(tw_grouped_args_init(gated, sizeof *gated));
  check(tw_grouped_args_init(added, sizeof *added));
  routing->logits = reserve(device, n->tokens * n->experts, 4);
  routing->expert_map = upload(device, stream, h->map, n->experts, 4);
  routing->ids = reserve(device, pairs(n), 4); /* only for the check */
  routing->weights = reserve(device, pairs(n), 4);
  routing->offsets = reserve(device, n->local + 1, 4);
  routing->order = reserve(device, pairs(n), 4);
  routing->inverse = reserve(device, pairs(n), 4);

  gated->a = upload(device, stream, h->tokens, n->tokens * n->width, 2);
  gated->b = upload(device, stream, h->up, n->local * 2 * n->inner * n->width, 2);
  gated->d = reserve(device, pairs(n) * n->inner, 2);
  gated->groups = routing->offsets;
  gated->a_rows = routing->order;

  added->a = gated->d;
  added->b = upload(device, stream, h->down, n->local * n->width * n->inner, 2);
  added->d = reserve(device, n->tokens * n->width, 4);
  added->groups = routing->offsets;
  added->d_rows = routing->order;
  added->row_weights = routing->weights;
  added->inverse = routing->inverse;
  share_workspace(device, layer);
}

/* [capture] */
static tw_graph* capture(tw_stream* stream, const struct layer* layer) {
  tw_graph* graph;
  check(tw_stream_begin_capture(stream));
  check(tw_route_run(layer->route, stream, &layer->routing));
  check(tw_grouped_run(layer->up, stream, &layer->gated));
  check(tw_grouped_run(layer->down, stream, &layer->added));
  check(tw_stream_end_capture(stream, &graph));
  check(tw_graph_instantiate(graph));
  return graph;
}
/* [capture] */

/* The activations inner[...] of a token for a local expert, in double. */
static void inner_values(const struct sizes* n, const struct host_data* h, int64_t token,
                         int64_t expert, double* values) {
  const uint16_t* x = h->tokens + token * n->width;
  const uint16_t* up = h->up + expert * 2 * n->inner * n->width;
  for (int64_t i = 0; i < n->inner; i++) {
    double gate = 0, linear = 0;
    for (int64_t w = 0; w < n->width; w++) {
      gate += (double)(to_float(x[w]) * to_float(up[i * n->width + w]));
      linear += (double)(to_float(x[w]) * to_float(up[(n->inner + i) * n->width + w]));
    }
    values[i] = gate / (1 + exp(-gate)) * linear;
  }
}

/* Counts the elements of a token's result whose error exceeds the bf16 rounding of `inner`. */
static int64_t wrong_in_token(const struct sizes* n, const struct host_data* h, int64_t token) {
  double* values = allocate(n->top_k * n->inner, sizeof *values);
  int64_t wrong = 0;
  for (int64_t s = 0; s < n->top_k; s++) {
    const int32_t expert = h->map[h->ids[token * n->top_k + s]];
    if (expert >= 0) inner_values(n, h, token, expert, values + s * n->inner);
  }
  for (int64_t c = 0; c < n->width; c++) {
    double sum = 0, size = 0;
    for (int64_t s = 0; s < n->top_k; s++) {
      const int32_t expert = h->map[h->ids[token * n->top_k + s]];
      for (int64_t i = 0; expert >= 0 && i < n->inner; i++) {
        const double down = (double)to_float(h->down[(expert * n->width + c) * n->inner + i]);
        const double product =
            (double)h->weights[token * n->top_k + s] * values[s * n->inner + i] * down;
        sum += product;
        size += fabs(product);
      }
    }
    const double difference = fabs((double)h->out[token * n->width + c] - sum);
    wrong += !(difference <= size / 256 + 1e-6);
  }
  free(values);
  return wrong;
}

/* Whether the last chosen expert is not among the top_k largest logits. */
static int64_t wrong_choice(const struct sizes* n, const struct host_data* h, int64_t token) {
  const float* logits = h->logits + token * n->experts;
  const int32_t* ids = h->ids + token * n->top_k;
  int64_t above = 0;
  for (int64_t e = 0; e < n->experts; e++) above += logits[e] > logits[ids[n->top_k - 1]];
  return above >= n->top_k;
}

/* Launches the graph with new logits. Each launch reads the sizes of the groups on the device. */
static int64_t replay(tw_stream* stream, const struct sizes* n, struct host_data* h,
                      const struct layer* layer, tw_graph* graph) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < n->tokens * n->experts; i++)
    h->logits[i] = (float)next_number() / (1 << 22);
  check(tw_memcpy_to_device(stream, layer->routing.logits, h->logits,
                            (uint64_t)(n->tokens * n->experts) * sizeof *h->logits));
  check(tw_graph_launch(graph, stream));
  check(tw_memcpy_to_host(stream, h->ids, layer->routing.ids, (uint64_t)pairs(n) * 4));
  check(tw_memcpy_to_host(stream, h->weights, layer->routing.weights, (uint64_t)pairs(n) * 4));
  check(tw_memcpy_to_host(stream, h->out, layer->added.d, (uint64_t)(n->tokens * n->width) * 4));
  check(tw_stream_synchronize(stream));
  for (int64_t t = 0; t < n->tokens; t += 1 + n->tokens / CHECKED_TOKENS)
    wrong += wrong_choice(n, h, t) + wrong_in_token(n, h, t);
  return wrong;
}

static void measure(tw_device* device, tw_stream* stream, const struct sizes* n, tw_graph* graph) {
  tw_event *start, *stop;
  float milliseconds;
  check(tw_event_create(device, &start));
  check(tw_event_create(device, &stop));
  check(tw_event_record(start, stream));
  for (int i = 0; i < TIMED_RUNS; i++) check(tw_graph_launch(graph, stream));
  check(tw_event_record(stop, stream));
  check(tw_event_synchronize(stop));
  check(tw_event_elapsed(start, stop, &milliseconds));
  printf("%.4f ms for a layer", (double)milliseconds / TIMED_RUNS);
  if (n->local == n->experts) /* otherwise the work depends on the logits */
    printf(", %.1f TFLOP/s",
           6e-9 * (double)(pairs(n) * n->width * n->inner) * TIMED_RUNS / (double)milliseconds);
  printf("\n");
  tw_event_destroy(stop);
  tw_event_destroy(start);
}

static int64_t run(tw_device* device, const struct sizes* n, int timed) {
  struct host_data h = make_data(n);
  struct layer layer;
  int64_t wrong = 0;
  tw_stream* stream;
  check(tw_stream_create(device, &stream));
  plan_routing(device, n, &layer.route);
  plan_products(device, n, &layer.up, &layer.down);
  give_memory(device, stream, n, &h, &layer);
  tw_graph* graph = capture(stream, &layer);
  for (int i = 0; i < REPLAYS; i++) wrong += replay(stream, n, &h, &layer, graph);
  printf("%lld tokens, the best %lld of %lld experts, %lld of them here: %lld wrong\n",
         (long long)n->tokens, (long long)n->top_k, (long long)n->experts, (long long)n->local,
         (long long)wrong);
  if (timed) measure(device, stream, n, graph);
  tw_graph_destroy(graph);
  tw_plan_destroy(layer.down);
  tw_plan_destroy(layer.up);
  tw_plan_destroy(layer.route);
  tw_stream_destroy(stream);
  free_data(&h);
  return wrong;
}

/* Opens the named device; NULL: a GPU if there is one. Returns whether it is a GPU. */
static int open_device(const char* name, tw_device** device) {
  if (name == NULL || strcmp(name, "cuda") == 0) {
    const tw_status status = tw_device_create(TW_DEVICE_CUDA, 0, device);
    if (status == TW_OK) return 1;
    if (name != NULL) check(status);
    printf("%s\n", tw_last_error()); /* no GPU: use the CPU */
  }
  check(tw_device_create(TW_DEVICE_HOST, 0, device));
  return 0;
}

int main(int argc, char** argv) {
  const int named = argc == 2 || argc == 4;
  const char* name = named ? argv[1] : NULL;
  static const struct sizes small = {24, 8, 2, 64, 48, 0, 8};
  static const struct sizes large = {1024, 32, 4, 2048, 1024, 0, 32};
  tw_device* device;
  if (argc > 4 || (named && strcmp(name, "host") != 0 && strcmp(name, "cuda") != 0)) {
    fprintf(stderr, "usage: moe_layer [host | cuda] [FIRST COUNT]\n");
    return 2;
  }
  const int cuda = open_device(name, &device);
  struct sizes n = cuda ? large : small;
  if (argc >= 3) {
    n.first = atoll(argv[argc - 2]), n.local = atoll(argv[argc - 1]);
    if (n.first < 0 || n.local < 1 || n.first > n.experts - n.local) {
      fprintf(stderr, "experts FIRST to FIRST + COUNT - 1 must be among the %lld experts\n",
              (long long)n.experts);
      tw_device_destroy(device);
      return 2;
    }
  }
  const int64_t wrong = run(device, &n, cuda);
  tw_device_destroy(device); /* frees the memory */
  return wrong != 0;
}
