/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_copy_ and tw_prefetch_ functions. */
#include "tests/capi/common/plan_harness.h"

/* 48 x 80 floats from a 60 x 100 matrix into a 50 x 96 matrix. */
static tw_copy_desc copy_desc(void) {
  tw_copy_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.rank = 2;
  desc.shape[0] = 48;
  desc.shape[1] = 80;
  desc.src_stride[0] = 100;
  desc.src_stride[1] = 1;
  desc.dst_stride[0] = 96;
  desc.dst_stride[1] = 1;
  return desc;
}

static void inits(void) {
  tw_copy_desc desc = copy_desc();
  tw_copy_args args;
  tw_prefetch_desc prefetch;
  tw_prefetch_args prefetch_args;
  NULL_FAILS("desc", tw_copy_desc_init(NULL, sizeof(tw_copy_desc)));
  NULL_FAILS("args", tw_copy_args_init(NULL, sizeof(tw_copy_args)));
  NULL_FAILS("desc", tw_prefetch_desc_init(NULL, sizeof(tw_prefetch_desc)));
  NULL_FAILS("args", tw_prefetch_args_init(NULL, sizeof(tw_prefetch_args)));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.src_alignment, 0);
  EQUAL(desc.dst_alignment, 0);
  EQUAL(desc.max_sms, 0);
  EQUAL(desc.src_cache, TW_CACHE_NORMAL);
  EQUAL(desc.dst_cache, TW_CACHE_NORMAL);
  EQUAL(desc.flags | desc.reserved, 0);
  EQUAL(desc.fill, TW_OOB_FILL_ZERO);
  for (int i = 2; i < 8; ++i) {
    EQUAL(desc.shape[i], TW_UNSET);
    EQUAL(desc.src_stride[i], TW_UNSET);
    EQUAL(desc.dst_stride[i], TW_UNSET);
  }
  for (int i = 0; i < 8; ++i) EQUAL(desc.src_shape[i] | desc.src_start[i], 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_copy_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.src | args.dst, 0);
  memset(&prefetch, 0xa5, sizeof prefetch);
  OK(tw_prefetch_desc_init(&prefetch, sizeof prefetch));
  EQUAL(prefetch.struct_size, sizeof prefetch);
  EQUAL(prefetch.pitch, 0);
  EQUAL(prefetch.alignment, 0);
  memset(&prefetch_args, 0xa5, sizeof prefetch_args);
  OK(tw_prefetch_args_init(&prefetch_args, sizeof prefetch_args));
  EQUAL(prefetch_args.struct_size, sizeof prefetch_args);
  EQUAL(prefetch_args.src, 0);
}

static void copy_descriptions(void) {
  setup s = open_setup();
  tw_copy_desc desc = copy_desc();
  tw_plan *plan = (tw_plan *)&plan;
  PLAN_RULES(tw_copy_desc, desc, tw_copy_plan, s.device);
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    desc = copy_desc();                                                \
    change;                                                            \
    plan = (tw_plan *)&plan;                                           \
    FAILS((status), (argument), tw_copy_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                               \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 1000);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = INT32_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "shape", desc.shape[0] = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "shape", desc.shape[1] = INT64_MIN);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_alignment", desc.src_alignment = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_alignment", desc.dst_alignment = 48);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_cache", desc.src_cache = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_cache", desc.dst_cache = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, NULL, desc.reserved = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_shape", desc.src_shape[0] = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_start", desc.src_start[1] = 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_start",
      (desc.src_shape[1] = 1, desc.src_start[1] = INT64_MIN));
  BAD(TW_ERROR_OVERFLOW, "src_start",
      (desc.dtype = TW_DTYPE_F64, desc.src_shape[1] = (int64_t)1 << 60,
       desc.src_start[1] = ((int64_t)1 << 60) - desc.shape[1]));
  BAD(TW_ERROR_INVALID_ARGUMENT, "fill", (desc.src_shape[1] = 8, desc.fill = 2));
  BAD(TW_ERROR_UNSUPPORTED, "fill",
      (desc.dtype = TW_DTYPE_I32, desc.src_shape[1] = 8, desc.fill = TW_OOB_FILL_NAN));
  BAD(TW_ERROR_OVERLAP, "dst_stride", desc.dst_stride[0] = 79);
  BAD(TW_ERROR_OVERLAP, "dst_stride", desc.dst_stride[1] = 0);
  BAD(TW_ERROR_OVERLAP, "dst_stride", (desc.dst_stride[0] = 0, desc.dst_stride[1] = 1));
  BAD(TW_ERROR_OVERFLOW, NULL, (desc.shape[0] = INT64_MAX, desc.shape[1] = 2));
  BAD(TW_ERROR_OVERFLOW, NULL, desc.src_stride[0] = INT64_MAX);
  BAD(TW_ERROR_OVERFLOW, NULL, desc.dst_stride[0] = INT64_MAX / 2);
#undef BAD
  tw_plan_destroy(NULL);
  close_setup(&s);
}

/* A window of 8 x 12 that begins two rows above and three columns left of a 6 x 10 tensor. */
static void copy_windows(void) {
  static float in[6 * 10], out[8 * 12];
  setup s = open_setup();
  tw_copy_desc desc = copy_desc();
  tw_copy_args args;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < COUNT(in); ++i) in[i] = (float)i;
  const uint64_t src = uploaded(&s, in, sizeof in), dst = allocated(&s, sizeof out);
  desc.shape[0] = 8;
  desc.shape[1] = desc.dst_stride[0] = 12;
  desc.src_stride[0] = desc.src_shape[1] = 10;
  desc.src_shape[0] = 6;
  desc.src_start[0] = -2;
  desc.src_start[1] = -3;
  OK(tw_copy_args_init(&args, sizeof args));
  args.src = src;
  args.dst = dst;
  for (desc.fill = TW_OOB_FILL_ZERO; desc.fill <= TW_OOB_FILL_NAN; ++desc.fill) {
    NEED(tw_copy_plan(s.device, &desc, &plan));
    describes_itself(plan, TW_OP_COPY);
    OK(tw_memset(s.stream, dst, 0xa5, sizeof out));
    OK(tw_copy_run(plan, s.stream, &args));
    download(&s, out, dst, sizeof out);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 12; ++j) {
        uint32_t bits;
        memcpy(&bits, &out[i * 12 + j], 4);
        if (i >= 2 && j >= 3)
          CHECK(out[i * 12 + j] == in[(i - 2) * 10 + j - 3]);
        else
          EQUAL(bits, desc.fill == TW_OOB_FILL_NAN ? 0x7ff77ff7 : 0);
      }
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

static void copy_runs(void) {
  static float in[60 * 100], out[50 * 96];
  setup s = open_setup();
  tw_copy_desc desc = copy_desc();
  tw_copy_args args, bad;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < COUNT(in); ++i) in[i] = (float)i;
  const uint64_t src = uploaded(&s, in, sizeof in), dst = allocated(&s, sizeof out);
  desc.src_alignment = 16;
  desc.src_cache = TW_CACHE_EVICT_FIRST;
  desc.dst_cache = TW_CACHE_EVICT_LAST;
  NEED(tw_copy_plan(s.device, &desc, &plan));
  desc.shape[0] = 1; /* a plan does not refer to the description */
  describes_itself(plan, TW_OP_COPY);
  OK(tw_copy_args_init(&args, sizeof args));
  args.src = src + 4 * (5 * 100 + 8);
  args.dst = dst + 4 * (96 + 2);
  for (int again = 0; again < 2; ++again) {
    OK(tw_memset(s.stream, dst, 0, sizeof out));
    OK(tw_copy_run(plan, s.stream, &args));
    download(&s, out, dst, sizeof out);
    int wrong = 0;
    for (int i = 0; i < 50; ++i)
      for (int j = 0; j < 96; ++j) {
        const int inside = i >= 1 && i < 49 && j >= 2 && j < 82;
        const float expected = inside ? (float)((i - 1 + 5) * 100 + j - 2 + 8) : 0;
        wrong += out[i * 96 + j] != expected;
      }
    EQUAL(wrong, 0);
  }

  RUN_RULES(tw_copy_args, args, tw_copy_run, plan, s.stream);
#define BAD(status, argument, change)                               \
  do {                                                              \
    bad = args;                                                     \
    change;                                                         \
    FAILS((status), (argument), tw_copy_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "src", bad.src = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst", bad.dst = 0);
  BAD(TW_ERROR_MISALIGNED, "src", bad.src += 4); /* promised 16 */
  BAD(TW_ERROR_MISALIGNED, "dst", bad.dst += 2); /* not aligned to an element */
  BAD(TW_ERROR_OVERLAP, NULL, bad.dst = bad.src);
  BAD(TW_ERROR_OVERLAP, NULL, bad.dst = bad.src + 4 * 100 * 40);
#undef BAD
  {
    tw_rows_args rows;
    tw_gemm_args gemm;
    tw_prefetch_args prefetch;
    OK(tw_rows_args_init(&rows, sizeof rows));
    OK(tw_gemm_args_init(&gemm, sizeof gemm));
    OK(tw_prefetch_args_init(&prefetch, sizeof prefetch));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_gather_run(plan, s.stream, &rows));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_scatter_run(plan, s.stream, &rows));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_gemm_run(plan, s.stream, &gemm));
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_prefetch_run(plan, s.stream, &prefetch));
  }
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Ranks 1 to 8, transposes and empty shapes against plain loops. */
static void copy_shapes(void) {
  enum { kElements = 4096 };
  static uint16_t in[kElements], out[kElements], expected[kElements];
  static const struct {
    int32_t rank;
    int64_t shape[8], src[8], dst[8];
  } rows[] = {
      {1, {1000}, {1}, {1}},
      {1, {7}, {3}, {5}},
      {2, {64, 64}, {64, 1}, {1, 64}},
      {2, {31, 33}, {64, 1}, {1, 31}},
      {2, {0, 33}, {64, 1}, {64, 1}},
      {3, {4, 8, 16}, {512, 16, 1}, {1, 4, 32}},
      {4, {3, 4, 5, 6}, {200, 40, 7, 1}, {1, 3, 12, 60}},
      {5, {2, 3, 4, 5, 6}, {1, 2, 6, 24, 120}, {360, 120, 30, 6, 1}},
      {8,
       {2, 2, 2, 2, 2, 2, 2, 3},
       {384, 192, 96, 48, 24, 12, 6, 2},
       {1, 2, 4, 8, 16, 32, 64, 128}},
      {2, {8, 16}, {0, 1}, {16, 1}}, /* one source row, repeated */
  };
  setup s = open_setup();
  for (int i = 0; i < kElements; ++i) in[i] = (uint16_t)(i * 31 + 7);
  const uint64_t src = uploaded(&s, in, sizeof in), dst = allocated(&s, sizeof out);
  for (size_t r = 0; r < COUNT(rows); ++r) {
    tw_copy_desc desc;
    tw_copy_args args;
    tw_plan *plan = NULL;
    int64_t total = 1;
    OK(tw_copy_desc_init(&desc, sizeof desc));
    OK(tw_copy_args_init(&args, sizeof args));
    desc.dtype = TW_DTYPE_U16;
    desc.rank = rows[r].rank;
    for (int i = 0; i < rows[r].rank; ++i) {
      desc.shape[i] = rows[r].shape[i];
      desc.src_stride[i] = rows[r].src[i];
      desc.dst_stride[i] = rows[r].dst[i];
      total *= rows[r].shape[i];
    }
    memset(expected, 0, sizeof expected);
    for (int64_t n = 0; n < total; ++n) {
      int64_t rest = n, from = 0, to = 0;
      for (int i = rows[r].rank - 1; i >= 0; --i) {
        from += rest % rows[r].shape[i] * rows[r].src[i];
        to += rest % rows[r].shape[i] * rows[r].dst[i];
        rest /= rows[r].shape[i];
      }
      expected[to] = in[from];
    }
    args.src = src;
    args.dst = dst;
    if (!OK(tw_copy_plan(s.device, &desc, &plan))) {
      printf("    row %zu\n", r);
      continue;
    }
    OK(tw_memset(s.stream, dst, 0, sizeof out));
    OK(tw_copy_run(plan, s.stream, &args));
    download(&s, out, dst, sizeof out);
    if (!CHECK(memcmp(out, expected, sizeof out) == 0)) printf("    row %zu\n", r);
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

static void prefetches(void) {
  static unsigned char data[64 * 256];
  setup s = open_setup();
  tw_prefetch_desc desc, keep;
  tw_prefetch_args args;
  tw_plan *plan = NULL;
  const uint64_t src = uploaded(&s, data, sizeof data);
  OK(tw_prefetch_desc_init(&desc, sizeof desc));
  OK(tw_prefetch_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_BF16;
  desc.rows = 60;
  desc.columns = 100;
  desc.pitch = 128;
  keep = desc;
  args.src = src;
  NEED(tw_prefetch_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_PREFETCH);
  OK(tw_prefetch_run(plan, s.stream, &args));
  OK(tw_stream_synchronize(s.stream));
  RUN_RULES(tw_prefetch_args, args, tw_prefetch_run, plan, s.stream);
  args.src = 0;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src", tw_prefetch_run(plan, s.stream, &args));
  args.src = src;
  tw_plan_destroy(plan);

  desc.alignment = 256;
  NEED(tw_prefetch_plan(s.device, &desc, &plan));
  args.src = src + 16;
  FAILS(TW_ERROR_MISALIGNED, "src", tw_prefetch_run(plan, s.stream, &args));
  tw_plan_destroy(plan);

  PLAN_RULES(tw_prefetch_desc, desc, tw_prefetch_plan, s.device);
#define BAD(status, argument, change)                                      \
  do {                                                                     \
    desc = keep;                                                           \
    change;                                                                \
    plan = (tw_plan *)&plan;                                               \
    FAILS((status), (argument), tw_prefetch_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                   \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 99);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", desc.rows = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "columns", desc.columns = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "pitch", desc.pitch = 99);
  BAD(TW_ERROR_INVALID_ARGUMENT, "pitch", desc.pitch = -128);
  BAD(TW_ERROR_INVALID_ARGUMENT, "alignment", desc.alignment = 7);
  BAD(TW_ERROR_OVERFLOW, NULL, (desc.rows = INT64_MAX, desc.pitch = 128));
  BAD(TW_ERROR_INVALID_ARGUMENT, "cache", desc.cache = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "budget", desc.budget = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "budget", desc.budget = 1); /* less than one element */
  desc = keep;
  desc.rows = desc.columns = TW_UNSET, desc.pitch = 0;
  keep = desc;
  BAD(TW_ERROR_INVALID_ARGUMENT, "shape", (desc.rank = 1, desc.shape[0] = -1, desc.stride[0] = 1));
#undef BAD
  /* A sub-box of a tensor, without and with a budget. */
  for (int bounded = 0; bounded < 2; ++bounded) {
    tw_plan_info info;
    desc = keep;
    desc.rank = 3;
    desc.shape[0] = 4, desc.shape[1] = 5, desc.shape[2] = 48;
    desc.stride[0] = 1024, desc.stride[1] = 64, desc.stride[2] = 1;
    desc.cache = TW_CACHE_EVICT_LAST;
    if (bounded) desc.budget = 7 * 96 + 50;
    NEED(tw_prefetch_plan(s.device, &desc, &plan));
    describes_itself(plan, TW_OP_PREFETCH);
    tw_plan_info_init(&info, sizeof info);
    OK(tw_plan_get_info(plan, &info));
    EQUAL(info.bytes_read, bounded ? 7 * 96 : 20 * 96);
    EQUAL(info.boxes_prefetched, bounded ? 7 : 20);
    OK(tw_prefetch_run(plan, s.stream, &args));
    OK(tw_stream_synchronize(s.stream));
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(copy, copy_desc(), tw_copy_plan, tw_copy_run);
}

/* Destroying a plan does not cancel a run in flight. */
static void destroyed_in_flight(void) {
  enum { kElements = 1 << 20 };
  uint32_t *data = malloc(4 * kElements), *out = malloc(4 * kElements);
  setup s = open_setup();
  tw_copy_desc desc;
  tw_copy_args args;
  tw_plan *plan = NULL;
  for (uint32_t i = 0; i < kElements; ++i) data[i] = i;
  OK(tw_copy_desc_init(&desc, sizeof desc));
  OK(tw_copy_args_init(&args, sizeof args));
  desc.dtype = TW_DTYPE_U32;
  desc.rank = 1;
  desc.shape[0] = kElements;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  args.src = uploaded(&s, data, 4 * kElements);
  args.dst = allocated(&s, 4 * kElements);
  OK(tw_copy_plan(s.device, &desc, &plan));
  OK(tw_copy_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  download(&s, out, args.dst, 4 * kElements);
  CHECK(memcmp(data, out, 4 * kElements) == 0);
  close_setup(&s);
  free(data);
  free(out);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(copy_descriptions);
  RUN(copy_runs);
  RUN(copy_windows);
  RUN(copy_shapes);
  RUN(prefetches);
  RUN(after_the_device);
  RUN(destroyed_in_flight);
  return harness_end();
}
