/* SPDX-License-Identifier: Apache-2.0 */
/* D[scatter] = X[gather] W by one grouped product in bf16. The kernel loads the rows of X by one
 * index and stores the rows of D by another one, so that no separate gather or scatter is needed.
 *
 *     gather_gemm_scatter [host | cuda] [M N K]
 *
 * Without a device it uses a GPU if there is one, else the CPU reference. Without sizes it runs two
 * products: 4096 x 4096 x 4096 and 1024 x 1024 x 2048 on a GPU, small ones on the CPU. Some rows of
 * D are checked by a plain loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

enum { CHECKED_ROWS = 16, TIMED_RUNS = 20 };

struct product {
  int64_t m, n, k;
  uint16_t *x, *w, *d; /* bf16: M x K, N x K (B transposed), M x N */
  int32_t *gather, *scatter;
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

/* Multiples of 1/8 from -1 to 1, which are exact in bf16. */
static uint16_t* draw(int64_t count) {
  uint16_t* values = allocate(count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    const float value = (float)((int)(next_number() % 17) - 8) / 8;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    values[i] = (uint16_t)(bits >> 16);
  }
  return values;
}

/* `gather` may name a row of X several times. `scatter` is a random permutation of D's rows. */
static void make(struct product* p, int64_t m, int64_t n, int64_t k) {
  p->m = m, p->n = n, p->k = k;
  p->x = draw(m * k), p->w = draw(n * k), p->d = allocate(m * n, sizeof *p->d);
  p->gather = allocate(m, sizeof *p->gather), p->scatter = allocate(m, sizeof *p->scatter);
  for (int64_t i = 0; i < m; i++) {
    p->gather[i] = (int32_t)(next_number() % (uint32_t)m);
    const int64_t other = (int64_t)next_number() % (i + 1);
    p->scatter[i] = p->scatter[other];
    p->scatter[other] = (int32_t)i;
  }
}

static void free_all(struct product* p) {
  free(p->x), free(p->w), free(p->d), free(p->gather), free(p->scatter);
}

static uint64_t upload(tw_device* device, tw_stream* stream, const void* data, int64_t bytes) {
  uint64_t address;
  check(tw_malloc(device, (uint64_t)bytes, &address));
  check(tw_memcpy_to_device(stream, address, data, (uint64_t)bytes));
  return address;
}

/* [plan] */
static tw_plan* make_plan(tw_device* device, const struct product* p) {
  tw_grouped_desc desc;
  tw_plan* plan;
  check(tw_grouped_desc_init(&desc, sizeof desc));
  desc.grouping = TW_GROUPING_ONE; /* one group of all rows: a single B */
  desc.flags = TW_GROUPED_GATHER | TW_GROUPED_SCATTER;
  desc.b_order = TW_COLUMN_MAJOR; /* B as N rows of K elements, which the fast kernels need */
  desc.m = p->m, desc.n = p->n, desc.k = p->k;
  desc.a_count = desc.d_count = p->m;                           /* rows of X and of D */
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 256; /* what tw_malloc() guarantees */
  check(tw_grouped_plan(device, &desc, &plan));
  return plan;
}
/* [plan] */

/* With a workspace several blocks can share a tile by splitting k. That is faster with few tiles,
 * and necessary for a large k. */
static void give_workspace(tw_device* device, const tw_plan* plan, tw_grouped_args* args) {
  tw_plan_info info;
  check(tw_plan_info_init(&info, sizeof info));
  check(tw_plan_get_info(plan, &info));
  args->workspace_bytes = info.workspace_bytes;
  check(tw_malloc(device, info.workspace_bytes, &args->workspace)); /* 0 bytes: address 0 */
}

/* The average time of a run in milliseconds. */
static double measure(tw_device* device, tw_stream* stream, tw_plan* plan,
                      const tw_grouped_args* args) {
  tw_event *start, *stop;
  float milliseconds;
  check(tw_event_create(device, &start));
  check(tw_event_create(device, &stop));
  check(tw_event_record(start, stream));
  for (int i = 0; i < TIMED_RUNS; i++) check(tw_grouped_run(plan, stream, args));
  check(tw_event_record(stop, stream));
  check(tw_event_synchronize(stop));
  check(tw_event_elapsed(start, stop, &milliseconds));
  tw_event_destroy(stop);
  tw_event_destroy(start);
  return (double)milliseconds / TIMED_RUNS;
}

/* Counts the elements of a row that differ by more than their rounding to bf16. All products are
 * multiples of 1/64, so that the f32 sum of this loop is exact. */
static int64_t wrong_in_row(const struct product* p, int64_t row) {
  const uint16_t* x = p->x + p->gather[row] * p->k;
  int64_t wrong = 0;
  for (int64_t j = 0; j < p->n; j++) {
    float sum = 0;
    for (int64_t i = 0; i < p->k; i++) sum += to_float(x[i]) * to_float(p->w[j * p->k + i]);
    const float got = to_float(p->d[p->scatter[row] * p->n + j]);
    wrong += !(fabsf(got - sum) <= fabsf(sum) / 256); /* counts NaN as wrong, too */
  }
  return wrong;
}

/* Runs one product and prints the result. Returns the number of wrong elements that it found. */
static int64_t multiply(tw_device* device, tw_stream* stream, int timed, int64_t m, int64_t n,
                        int64_t k) {
  struct product p;
  tw_grouped_args args;
  int64_t wrong = 0, rows = 0;
  make(&p, m, n, k);
  tw_plan* plan = make_plan(device, &p);
  check(tw_grouped_args_init(&args, sizeof args));
  args.a = upload(device, stream, p.x, m * k * 2);
  args.b = upload(device, stream, p.w, n * k * 2);
  args.a_rows = upload(device, stream, p.gather, m * 4);
  args.d_rows = upload(device, stream, p.scatter, m * 4);
  check(tw_malloc(device, (uint64_t)(m * n * 2), &args.d));
  give_workspace(device, plan, &args);
  /* NaN, in case an element is not written */
  check(tw_memset(stream, args.d, 0xFF, (uint64_t)(m * n * 2)));

  check(tw_grouped_run(plan, stream, &args));
  check(tw_memcpy_to_host(stream, p.d, args.d, (uint64_t)(m * n * 2)));
  check(tw_stream_synchronize(stream));
  for (int64_t row = 0; row < m; row += 1 + m / CHECKED_ROWS, rows++)
    wrong += wrong_in_row(&p, row);
  printf("%lld x %lld x %lld: %lld wrong in %lld rows", (long long)m, (long long)n, (long long)k,
         (long long)wrong, (long long)rows);
  if (timed) {
    const double ms = measure(device, stream, plan, &args);
    printf(", %.4f ms, %.1f TFLOP/s", ms, 2e-9 * (double)m * (double)n * (double)k / ms);
  }
  printf("\n");
  tw_plan_destroy(plan);
  check(tw_free(device, args.a));
  check(tw_free(device, args.b));
  check(tw_free(device, args.d));
  check(tw_free(device, args.a_rows));
  check(tw_free(device, args.d_rows));
  check(tw_free(device, args.workspace));
  free_all(&p);
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
  const int named = argc == 2 || argc == 5;
  const char* name = named ? argv[1] : NULL;
  int64_t sizes[2][3] = {{4096, 4096, 4096}, {1024, 1024, 2048}}, wrong = 0;
  const int64_t small[2][3] = {{128, 96, 256}, {37, 40, 72}};
  int products = 2;
  tw_device* device;
  tw_stream* stream;
  if (argc > 5 || argc == 3 || (named && strcmp(name, "host") != 0 && strcmp(name, "cuda") != 0)) {
    fprintf(stderr, "usage: gather_gemm_scatter [host | cuda] [M N K]\n");
    return 2;
  }
  const int cuda = open_device(name, &device);
  if (!cuda) memcpy(sizes, small, sizeof sizes);
  if (argc >= 4) {
    products = 1;
    for (int i = 0; i < 3; i++) sizes[0][i] = atoll(argv[argc - 3 + i]);
    if (sizes[0][0] < 1 || sizes[0][1] < 1 || sizes[0][2] < 1) {
      fprintf(stderr, "M, N and K must be at least 1\n");
      return 2;
    }
  }
  check(tw_stream_create(device, &stream));
  for (int i = 0; i < products; i++)
    wrong += multiply(device, stream, cuda, sizes[i][0], sizes[i][1], sizes[i][2]);
  tw_stream_destroy(stream);
  tw_device_destroy(device);
  return wrong != 0;
}
