/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_elementwise_ functions. */
#include "tests/capi/common/plan_harness.h"

/* 12 x 20 elements of a and b into a destination with a pitch. */
static tw_elementwise_desc sum_desc(void) {
  tw_elementwise_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_elementwise_desc_init(&desc, sizeof desc));
  desc.b_dtype = TW_DTYPE_F32;
  desc.rank = 2;
  desc.shape[0] = 12;
  desc.shape[1] = 20;
  desc.a_stride[0] = 20;
  desc.b_stride[0] = 32;
  desc.dst_stride[0] = 24;
  desc.a_stride[1] = desc.b_stride[1] = desc.dst_stride[1] = 1;
  return desc;
}

static void inits(void) {
  tw_elementwise_desc desc;
  tw_elementwise_args args;
  NULL_FAILS("desc", tw_elementwise_desc_init(NULL, sizeof(tw_elementwise_desc)));
  NULL_FAILS("args", tw_elementwise_args_init(NULL, sizeof(tw_elementwise_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_elementwise_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.a_dtype, TW_DTYPE_F32);
  EQUAL(desc.b_dtype, 0);
  EQUAL(desc.dst_dtype, TW_DTYPE_F32);
  EQUAL(desc.rank, 0);
  EQUAL(desc.reduction, TW_REDUCE_NONE);
  EQUAL(desc.flags | desc.max_sms, 0);
  EQUAL(desc.combine, TW_COMBINE_ADD);
  EQUAL(desc.activation, TW_ACTIVATION_NONE);
  for (int i = 0; i < 8; ++i) {
    EQUAL(desc.shape[i], TW_UNSET);
    EQUAL(desc.a_stride[i], TW_UNSET);
    EQUAL(desc.b_stride[i], TW_UNSET);
    EQUAL(desc.dst_stride[i], TW_UNSET);
  }
  memset(&args, 0xa5, sizeof args);
  OK(tw_elementwise_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  CHECK(args.alpha == 1 && args.beta == 1);
  EQUAL(args.a | args.b | args.dst | args.device_alpha | args.device_beta, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_elementwise_desc desc = sum_desc();
  tw_plan *plan = (tw_plan *)&plan;
  PLAN_RULES(tw_elementwise_desc, desc, tw_elementwise_plan, s.device);
#define BAD(status, argument, change)                                         \
  do {                                                                        \
    desc = sum_desc();                                                        \
    change;                                                                   \
    plan = (tw_plan *)&plan;                                                  \
    FAILS((status), (argument), tw_elementwise_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                      \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_dtype", desc.a_dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_dtype", desc.b_dtype = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_dtype", desc.dst_dtype = 1000);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_TF32);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_I32);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.a_dtype = TW_DTYPE_F64);
  BAD(TW_ERROR_UNSUPPORTED, "b_dtype", desc.b_dtype = TW_DTYPE_U8);
  BAD(TW_ERROR_UNSUPPORTED, "dst_dtype", desc.dst_dtype = TW_DTYPE_B128);
  BAD(TW_ERROR_UNSUPPORTED, "a_dtype", desc.dst_dtype = TW_DTYPE_U32);
  BAD(TW_ERROR_INVALID_ARGUMENT, "reduction", desc.reduction = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "reduction", desc.reduction = -1);
  BAD(TW_ERROR_UNSUPPORTED, "reduction", desc.reduction = TW_REDUCE_AND);
  BAD(TW_ERROR_UNSUPPORTED, "reduction", desc.reduction = TW_REDUCE_INC);
  BAD(TW_ERROR_UNSUPPORTED, "reduction",
      (desc.dst_dtype = TW_DTYPE_F8E4M3, desc.reduction = TW_REDUCE_ADD));
  BAD(TW_ERROR_UNSUPPORTED, "reduction",
      (desc.a_dtype = desc.b_dtype = desc.dst_dtype = TW_DTYPE_I32,
       desc.reduction = TW_REDUCE_DEC));
  BAD(TW_ERROR_UNSUPPORTED, "flags",
      (desc.a_dtype = desc.b_dtype = desc.dst_dtype = TW_DTYPE_I32, desc.flags = 1));
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 4);
  BAD(TW_ERROR_UNSUPPORTED, "flags",
      (desc.a_dtype = desc.b_dtype = desc.dst_dtype = TW_DTYPE_U64,
       desc.flags = TW_ELEMENTWISE_DEVICE_SCALARS));
  BAD(TW_ERROR_INVALID_ARGUMENT, "combine", desc.combine = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "combine", desc.combine = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "combine",
      (desc.combine = TW_COMBINE_MULTIPLY, desc.b_dtype = 0,
       desc.b_stride[0] = desc.b_stride[1] = TW_UNSET));
  BAD(TW_ERROR_INVALID_ARGUMENT, "activation", desc.activation = 5);
  BAD(TW_ERROR_INVALID_ARGUMENT, "activation", desc.activation = -1);
  BAD(TW_ERROR_UNSUPPORTED, "activation",
      (desc.a_dtype = desc.b_dtype = desc.dst_dtype = TW_DTYPE_I32,
       desc.activation = TW_ACTIVATION_RELU));
  BAD(TW_ERROR_UNSUPPORTED, "activation",
      (desc.a_dtype = desc.b_dtype = desc.dst_dtype = TW_DTYPE_F64,
       desc.activation = TW_ACTIVATION_SILU));
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "shape", desc.shape[0] = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "a_alignment", desc.a_alignment = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b_alignment", desc.b_alignment = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_alignment", desc.dst_alignment = 48);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_cache", desc.src_cache = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_cache", desc.dst_cache = -1);
  BAD(TW_ERROR_OVERLAP, "dst_stride", desc.dst_stride[0] = 19);
  BAD(TW_ERROR_OVERLAP, "dst_stride", desc.dst_stride[1] = 0);
  BAD(TW_ERROR_OVERFLOW, NULL, (desc.shape[0] = INT64_MAX, desc.shape[1] = 2));
  BAD(TW_ERROR_OVERFLOW, "b_stride", desc.b_stride[0] = INT64_MAX);
#undef BAD
  close_setup(&s);
}

static void runs(void) {
  static float in_a[12 * 20], in_b[12 * 32], out[12 * 24];
  setup s = open_setup();
  tw_elementwise_desc desc = sum_desc();
  tw_elementwise_args args, bad;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < COUNT(in_a); ++i) in_a[i] = (float)i;
  for (size_t i = 0; i < COUNT(in_b); ++i) in_b[i] = 0.5f * (float)i;
  const uint64_t a = uploaded(&s, in_a, sizeof in_a), b = uploaded(&s, in_b, sizeof in_b);
  const uint64_t dst = allocated(&s, sizeof out);
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  desc.shape[0] = 1; /* a plan does not refer to the description */
  describes_itself(plan, TW_OP_ELEMENTWISE);
  OK(tw_elementwise_args_init(&args, sizeof args));
  args.a = a;
  args.b = b;
  args.dst = dst;
  args.alpha = 2;
  args.beta = -4;
  OK(tw_memset(s.stream, dst, 0xff, sizeof out));
  OK(tw_elementwise_run(plan, s.stream, &args));
  download(&s, out, dst, sizeof out);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 24; ++j) {
      const float want = 2 * in_a[i * 20 + (j < 20 ? j : 0)] - 4 * in_b[i * 32 + (j < 20 ? j : 0)];
      CHECK(j < 20 ? out[i * 24 + j] == want : out[i * 24 + j] != out[i * 24 + j]);
    }
  RUN_RULES(tw_elementwise_args, args, tw_elementwise_run, plan, s.stream);
  /* A sum into b itself, which is allowed because only b has dst's strides. */
  args.dst = b;
  FAILS(TW_ERROR_OVERLAP, "dst", tw_elementwise_run(plan, s.stream, &args));
#define BAD(status, argument, change)                                      \
  do {                                                                     \
    bad = args;                                                            \
    bad.dst = dst;                                                         \
    change;                                                                \
    FAILS((status), (argument), tw_elementwise_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "a", bad.a = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "b", bad.b = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst", bad.dst = 0);
  BAD(TW_ERROR_MISALIGNED, "a", bad.a = a + 2);
  BAD(TW_ERROR_OVERLAP, "dst", bad.dst = a + 4);
#undef BAD
  tw_plan_destroy(plan);

  desc = sum_desc();
  desc.dst_stride[0] = desc.b_stride[0];
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  args.alpha = args.beta = 1;
  args.dst = b;
  OK(tw_elementwise_run(plan, s.stream, &args));
  download(&s, in_b, b, sizeof in_b);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 32; ++j) {
      const float before = 0.5f * (float)(i * 32 + j);
      CHECK(in_b[i * 32 + j] == (j < 20 ? in_a[i * 20 + j] + before : before));
    }
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Integers wrap and require integer factors; a reduction reads the destination. */
static void integers(void) {
  static uint8_t in[100], out[100];
  setup s = open_setup();
  tw_elementwise_desc desc;
  tw_elementwise_args args;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < sizeof in; ++i) in[i] = (uint8_t)(5 * i);
  const uint64_t a = uploaded(&s, in, sizeof in), dst = allocated(&s, sizeof out);
  OK(tw_elementwise_desc_init(&desc, sizeof desc));
  desc.a_dtype = desc.dst_dtype = TW_DTYPE_U8;
  desc.rank = 1;
  desc.shape[0] = sizeof in;
  desc.a_stride[0] = desc.dst_stride[0] = 1;
  desc.reduction = TW_REDUCE_ADD;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  OK(tw_elementwise_args_init(&args, sizeof args));
  args.a = a;
  args.dst = dst;
  args.alpha = 0.5f;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "alpha", tw_elementwise_run(plan, s.stream, &args));
  args.alpha = -3;
  OK(tw_memset(s.stream, dst, 7, sizeof out));
  OK(tw_elementwise_run(plan, s.stream, &args));
  download(&s, out, dst, sizeof out);
  for (size_t i = 0; i < sizeof in; ++i) EQUAL(out[i], (uint8_t)(7 - 15 * i));
  tw_plan_destroy(plan);

  /* The plan of another operation, and an empty shape. */
  desc.shape[0] = 0;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  args.a = args.dst = 0;
  OK(tw_elementwise_run(plan, s.stream, &args));
  tw_copy_args copy;
  OK(tw_copy_args_init(&copy, sizeof copy));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_copy_run(plan, s.stream, &copy));
  OK(tw_stream_synchronize(s.stream));
  tw_stream_destroy(s.stream);
  tw_device_destroy(s.device);
  ends_with_its_device(plan);
}

/* Scales and narrows a cache in one call. The factor is read from device memory when the run
 * executes. */
static void scaled_cache(void) {
  static uint16_t in[64];
  static uint8_t out[64];
  setup s = open_setup();
  tw_elementwise_desc desc;
  tw_elementwise_args args, bad;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < COUNT(in); ++i) in[i] = (uint16_t)(i % 2 ? 0xc040 : 0x3f80); /* -3, 1 */
  const float factors[] = {2, 1000};
  const uint64_t cache = uploaded(&s, in, sizeof in), dst = allocated(&s, sizeof out + 4);
  const uint64_t factor = uploaded(&s, factors, sizeof factors);
  OK(tw_elementwise_desc_init(&desc, sizeof desc));
  desc.a_dtype = TW_DTYPE_BF16;
  desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.flags = TW_ELEMENTWISE_SATURATE | TW_ELEMENTWISE_DEVICE_SCALARS;
  desc.rank = 1;
  desc.shape[0] = COUNT(in);
  desc.a_stride[0] = desc.dst_stride[0] = 1;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  OK(tw_elementwise_args_init(&args, sizeof args));
  args.a = cache;
  args.dst = dst;
  for (int i = 0; i < 2; ++i) {
    args.device_alpha = factor + 4 * (uint64_t)i;
    OK(tw_elementwise_run(plan, s.stream, &args));
    download(&s, out, dst, sizeof out);
    for (size_t k = 0; k < COUNT(in); ++k) /* 2 and -6; 448 and -448 */
      EQUAL(out[k], i == 0 ? (k % 2 ? 0xcc : 0x40) : (k % 2 ? 0xfe : 0x7e));
  }
#define BAD(status, argument, change)                                      \
  do {                                                                     \
    bad = args;                                                            \
    change;                                                                \
    FAILS((status), (argument), tw_elementwise_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_MISALIGNED, "device_alpha", bad.device_alpha = factor + 2);
  BAD(TW_ERROR_OVERLAP, "dst", bad.device_alpha = dst + sizeof out - 4);
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_beta", bad.device_beta = factor); /* there is no b */
  bad = args;
  bad.device_alpha = dst + sizeof out;
  OK(tw_elementwise_run(plan, s.stream, &bad));
  tw_plan_destroy(plan);

  desc.flags = 0;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_alpha", bad.dst = dst);
  args.device_alpha = 0;
  BAD(TW_ERROR_INVALID_ARGUMENT, "device_beta", bad.device_beta = factor);
#undef BAD
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* relu(alpha * a) * b, which has no beta. */
static void products(void) {
  static float in_a[12 * 20], in_b[12 * 32], out[12 * 24];
  setup s = open_setup();
  tw_elementwise_desc desc = sum_desc();
  tw_elementwise_args args;
  tw_plan *plan = NULL;
  for (size_t i = 0; i < COUNT(in_a); ++i) in_a[i] = 1 - (float)i;
  for (size_t i = 0; i < COUNT(in_b); ++i) in_b[i] = 0.5f * (float)i;
  const uint64_t a = uploaded(&s, in_a, sizeof in_a), b = uploaded(&s, in_b, sizeof in_b);
  const uint64_t dst = allocated(&s, sizeof out), factor = allocated(&s, 4);
  desc.combine = TW_COMBINE_MULTIPLY;
  desc.activation = TW_ACTIVATION_RELU;
  desc.flags = TW_ELEMENTWISE_DEVICE_SCALARS;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  OK(tw_elementwise_args_init(&args, sizeof args));
  args.a = a;
  args.b = b;
  args.dst = dst;
  args.alpha = -2;
  OK(tw_elementwise_run(plan, s.stream, &args));
  download(&s, out, dst, sizeof out);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 20; ++j) {
      const float x = -2 * in_a[i * 20 + j];
      CHECK(out[i * 24 + j] == (x > 0 ? x : 0) * in_b[i * 32 + j]);
    }
  args.beta = 0;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "beta", tw_elementwise_run(plan, s.stream, &args));
  args.beta = 1;
  args.device_beta = factor;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "device_beta", tw_elementwise_run(plan, s.stream, &args));
  tw_plan_destroy(plan);

  desc.combine = TW_COMBINE_ADD;
  NEED(tw_elementwise_plan(s.device, &desc, &plan));
  args.device_beta = dst + 24 * 4; /* within the second row */
  FAILS(TW_ERROR_OVERLAP, "dst", tw_elementwise_run(plan, s.stream, &args));
  args.device_beta = dst + 20 * 4; /* between the rows */
  OK(tw_elementwise_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(runs);
  RUN(integers);
  RUN(scaled_cache);
  RUN(products);
  return harness_end();
}
