/* SPDX-License-Identifier: Apache-2.0 */
/* A decode step of an inference engine, in bf16: out = gelu(x up + bias) down + x, where x are the
 * embeddings of some tokens. Finally it stores the rows of out in slots of a cache.
 *
 *   decode [cuda]
 *
 * Writes the bytes of the cache and of out to stdout. Without "cuda" it runs on the CPU
 * reference. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { WORDS = 32, HIDDEN = 16, INNER = 48, TOKENS = 4, SLOTS = 8 };
static struct {
  uint16_t table[WORDS * HIDDEN], up[HIDDEN * INNER], bias[INNER], down[INNER * HIDDEN];
  uint16_t x[TOKENS * HIDDEN], inner[TOKENS * INNER], out[TOKENS * HIDDEN], cache[SLOTS * HIDDEN];
  int32_t tokens[TOKENS], slots[TOKENS];
} host = {.tokens = {7, 18, 29, 7}, .slots = {5, 0, 3, 6}};
#define AT(operand) (base + (uint64_t)((char*)host.operand - (char*)&host)) /* device address */
#define CHECK(call) \
  if (call) return fprintf(stderr, "%s\n", tw_last_error()), 1

/* Fills with multiples of 1/8 from -1 to 1. They are exact in bf16, the upper half of an f32. */
static void fill(uint16_t* operand, int count, int seed) {
  for (int i = 0; i < count; i++)
    memcpy(&operand[i], (char*)&(float){((7 * i + seed) % 17 - 8) / 8.0f} + 2, 2);
}

int main(int argc, char** argv) {
  const int cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
  tw_device* device;
  tw_stream* stream;
  tw_plan *gather, *widen, *narrow, *store;
  tw_rows_desc rows;
  tw_gemm_desc gemm;
  tw_rows_args from, to;
  tw_gemm_args first, second;
  uint64_t base;
  fill(host.table, WORDS * HIDDEN, 0), fill(host.up, HIDDEN * INNER, 3);
  fill(host.bias, INNER, 5), fill(host.down, INNER * HIDDEN, 11);
  CHECK(tw_device_create(cuda ? TW_DEVICE_CUDA : TW_DEVICE_HOST, 0, &device));
  CHECK(tw_stream_create(device, &stream) || tw_malloc(device, sizeof host, &base));
  CHECK(tw_memcpy_to_device(stream, base, &host, sizeof host));
  /* Four plans: gather the embeddings, two products, scatter into the cache. A plan does not refer
   * to its description, which can be reused for the next plan. */
  CHECK(tw_rows_desc_init(&rows, sizeof rows) || tw_gemm_desc_init(&gemm, sizeof gemm));
  rows.dtype = TW_DTYPE_BF16, rows.table_rows = WORDS, rows.columns = HIDDEN, rows.count = TOKENS;
  CHECK(tw_gather_plan(device, &rows, &gather));
  rows.table_rows = SLOTS;
  CHECK(tw_scatter_plan(device, &rows, &store));
  gemm.m = TOKENS, gemm.n = HIDDEN, gemm.k = INNER;
  CHECK(tw_gemm_plan(device, &gemm, &narrow));
  gemm.n = INNER, gemm.k = HIDDEN, gemm.bias = TW_PER_COLUMN, gemm.activation = TW_ACTIVATION_GELU;
  CHECK(tw_gemm_plan(device, &gemm, &widen));
  /* The addresses for the runs. The second product adds C = x with beta 1: the residual. */
  CHECK(tw_rows_args_init(&from, sizeof from) || tw_rows_args_init(&to, sizeof to));
  CHECK(tw_gemm_args_init(&first, sizeof first) || tw_gemm_args_init(&second, sizeof second));
  from.table = AT(table), from.index = AT(tokens), from.packed = AT(x);
  first.a = AT(x), first.b = AT(up), first.bias = AT(bias), first.d = AT(inner);
  second.beta = 1, second.a = AT(inner), second.b = AT(down), second.c = AT(x), second.d = AT(out);
  to.table = AT(cache), to.index = AT(slots), to.packed = AT(out);
  /* All runs are asynchronous and execute in the order of the stream. */
  CHECK(tw_gather_run(gather, stream, &from) || tw_gemm_run(widen, stream, &first));
  CHECK(tw_gemm_run(narrow, stream, &second) || tw_scatter_run(store, stream, &to));
  CHECK(tw_memcpy_to_host(stream, &host, base, sizeof host) || tw_stream_synchronize(stream));
  fwrite(host.cache, 1, sizeof host.cache, stdout), fwrite(host.out, 1, sizeof host.out, stdout);
  tw_plan_destroy(gather), tw_plan_destroy(widen), tw_plan_destroy(narrow), tw_plan_destroy(store);
  tw_stream_destroy(stream), tw_device_destroy(device); /* frees the memory */
}
