/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of tw_gemm_: two products that share B and C. */
#include "tests/capi/common/gemm_harness.h"

typedef struct {
  uint64_t a, b, d; /* of both products, which share B */
  tw_gemm_desc desc;
  tw_gemm_args args;
} pair;

static pair make_pair(const setup *s) {
  pair p;
  p.desc = gemm_desc();
  p.args = upload_all(s);
  p.a = allocated(s, 2 * sizeof a);
  p.b = p.args.b;
  p.d = allocated(s, 2 * sizeof d);
  for (int i = 0; i < 2; ++i)
    OK(tw_memcpy_on_device(s->stream, p.a + (uint64_t)i * sizeof a, p.args.a, sizeof a));
  OK(tw_memset(s->stream, p.d, 0, 2 * sizeof d));
  p.desc.a_alignment = p.desc.b_alignment = 16;
  return p;
}

/* Checks that both D have `rows` rows, and that nothing else was written. */
static void both_have(const setup *s, const pair *p, int rows) {
  for (int i = 0; i < 2; ++i) {
    tw_gemm_args one = p->args;
    one.d = p->d + (uint64_t)i * sizeof d;
    has_product(s, &one, rows);
  }
}

#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = p.args;                                                   \
    change;                                                         \
    FAILS((status), (argument), tw_gemm_run(plan, s.stream, &bad)); \
  } while (0)

static void by_strides(void) {
  setup s = open_setup();
  pair p = make_pair(&s);
  tw_gemm_args bad;
  tw_plan *plan = NULL;
  tw_plan_info info;
  p.desc.batch_count = 2;
  p.desc.b_batch_stride = p.desc.c_batch_stride = 0;
  p.desc.flags = TW_GEMM_BATCH_INVARIANT;
  NEED(tw_gemm_plan(s.device, &p.desc, &plan));
  describes_itself(plan, TW_OP_GEMM);
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  EQUAL(info.flops, (int64_t)4 * kM * kN * kK);
  EQUAL(info.workspace_bytes, 0);
  p.args.a = p.a;
  p.args.d = p.d;
  OK(tw_gemm_run(plan, s.stream, &p.args));
  both_have(&s, &p, kM);
  BAD(TW_ERROR_OVERLAP, NULL, bad.a = p.d + sizeof d); /* the second D */
  tw_plan_destroy(plan);

  p.desc.batch_count = 0;
  NEED(tw_gemm_plan(s.device, &p.desc, &plan));
  describes_itself(plan, TW_OP_GEMM);
  OK(tw_gemm_args_init(&p.args, sizeof p.args));
  OK(tw_gemm_run(plan, s.stream, &p.args)); /* an empty batch needs no address */
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Empty operations can be planned and run, however large their other sizes. */
static void nothing(void) {
  setup s = open_setup();
  static const struct {
    int64_t m, n, k, batch;
  } cases[] = {
      {0, INT32_MAX - 1023, 8, 1 << 20},
      {INT32_MAX - 1023, 0, 8, 1 << 20},
      {INT32_MAX - 1023, INT32_MAX - 1023, 8, 0},
      {0, INT32_MAX - 1023, 8, 1},
      {0, INT32_MAX - 1023, 0, 0},
  };
  for (size_t i = 0; i < COUNT(cases); ++i)
    for (int32_t order = TW_ROW_MAJOR; order <= TW_COLUMN_MAJOR; ++order) {
      tw_gemm_desc desc;
      tw_gemm_args args;
      tw_plan *plan = NULL;
      tw_plan_info info;
      OK(tw_gemm_desc_init(&desc, sizeof desc));
      desc.m = cases[i].m;
      desc.n = cases[i].n;
      desc.k = cases[i].k;
      desc.batch_count = cases[i].batch;
      desc.d_order = order;
      NEED(tw_gemm_plan(s.device, &desc, &plan));
      OK(tw_plan_info_init(&info, sizeof info));
      OK(tw_plan_get_info(plan, &info));
      EQUAL(info.flops, 0);
      EQUAL(info.bytes_written, 0);
      OK(tw_gemm_args_init(&args, sizeof args));
      OK(tw_gemm_run(plan, s.stream, &args)); /* no address is checked */
      tw_plan_destroy(plan);
    }
  OK(tw_stream_synchronize(s.stream));
  close_setup(&s);
}

/* Fills the address arrays, including those of a third product that has no A. */
static void give_addresses(const setup *s, pair *p) {
  uint64_t addresses[4][3], zero = 0;
  for (int i = 0; i < 3; ++i) {
    addresses[0][i] = i == 2 ? 0 : p->a + (uint64_t)i * sizeof a;
    addresses[1][i] = p->b;
    addresses[2][i] = 0; /* not read, because beta is 0 */
    addresses[3][i] = p->d + (uint64_t)(i % 2) * sizeof d;
  }
  p->args.a = uploaded(s, addresses, sizeof addresses);
  p->args.b = p->args.a + sizeof addresses[0];
  p->args.c = p->args.b + sizeof addresses[0];
  p->args.d = p->args.c + sizeof addresses[0];
  p->args.invalid_count = uploaded(s, &zero, sizeof zero);
}

static void refusals(const setup *open, const pair *given, tw_plan *plan) {
  const setup s = *open;
  const pair p = *given;
  tw_gemm_args bad;
  BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad.a = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "d", bad.d = 0);
  BAD(TW_ERROR_MISALIGNED, "b", bad.b += 4);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count += 4);
  BAD(TW_ERROR_MISALIGNED, "device_m", bad.device_m = p.args.invalid_count + 4);
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_beta", bad.device_beta = p.args.invalid_count);
  BAD(TW_ERROR_INVALID_ARGUMENT, "workspace", bad.workspace = 0);
  BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", --bad.workspace_bytes);
  BAD(TW_ERROR_INVALID_ARGUMENT, "c", (bad.beta = 1, bad.c = 0));
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.workspace + 24); /* the first D's address */
  BAD(TW_ERROR_OVERLAP, "workspace", bad.device_m = bad.workspace);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.invalid_count = bad.a);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.device_m = bad.invalid_count);
  BAD(TW_ERROR_OVERLAP, "d", bad.d = bad.a);
  BAD(TW_ERROR_OVERLAP, NULL, bad.b = bad.workspace);
  /* without invalid_count the host device refuses the product without an A */
  if (harness.kind == TW_DEVICE_HOST) {
    tw_error_info fault;
    OK(tw_memset(s.stream, p.d, 0, 2 * sizeof d));
    BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad.invalid_count = 0);
    tw_error_info_init(&fault, sizeof fault);
    OK(tw_last_error_info(&fault));
    EQUAL(fault.index, 2);
    both_have(&s, &p, 0);
  }
  /* A batch by pointers requires the epilogue's operands, too. */
  tw_gemm_desc more = p.desc;
  more.bias = TW_PER_COLUMN;
  NEED(tw_gemm_plan(s.device, &more, &plan));
  BAD(TW_ERROR_INVALID_ARGUMENT, "bias", (void)0);
  tw_plan_destroy(plan);
}

static void by_addresses(void) {
  setup s = open_setup();
  pair p = make_pair(&s);
  tw_plan *plan = NULL;
  tw_plan_info info;
  static char text[4096];
  uint64_t word = 0;
  p.desc.batch_count = 3;
  p.desc.flags = TW_GEMM_BATCH_POINTERS | TW_GEMM_PROGRAMMATIC | TW_GEMM_DEVICE_M;
  NEED(tw_gemm_plan(s.device, &p.desc, &plan));
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  CHECK(info.workspace_bytes >= 3 * 32);
  OK(tw_plan_explain(plan, text, sizeof text, NULL));
  CHECK(strstr(text, "3 products by arrays of addresses") != NULL);
  CHECK(strstr(text, "before the predecessor grid has ended") != NULL);
  give_addresses(&s, &p);
  p.args.workspace = allocated(&s, info.workspace_bytes);
  p.args.workspace_bytes = info.workspace_bytes;
  OK(tw_gemm_run(plan, s.stream, &p.args));
  both_have(&s, &p, kM);
  download(&s, &word, p.args.invalid_count, sizeof word);
  EQUAL(word, 1);
  refusals(&s, &p, plan);
  /* device_m is 0: nothing is written. */
  word = 0;
  p.args.device_m = uploaded(&s, &word, sizeof word);
  OK(tw_memset(s.stream, p.d, 0, 2 * sizeof d));
  OK(tw_gemm_run(plan, s.stream, &p.args));
  both_have(&s, &p, 0);
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(by_strides);
  RUN(nothing);
  RUN(by_addresses);
  return harness_end();
}
