/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_route_ functions. */
#include "tests/capi/common/plan_harness.h"

enum { kTokens = 3, kExperts = 4, kTopK = 2, kPairs = kTokens * kTopK };

static const float kLogits[kTokens][kExperts] = {{0, 2, 1, -1}, {3, 3, 0, 0}, {-5, 0, 4, 4}};
static const int32_t kIds[kPairs] = {1, 2, 0, 1, 2, 3};

static tw_route_desc route_desc(void) {
  tw_route_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_route_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.tokens = kTokens;
  desc.experts = kExperts;
  desc.top_k = kTopK;
  return desc;
}

static void inits(void) {
  tw_route_desc desc;
  tw_route_args args;
  NULL_FAILS("desc", tw_route_desc_init(NULL, sizeof(tw_route_desc)));
  NULL_FAILS("args", tw_route_args_init(NULL, sizeof(tw_route_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_route_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.dtype, 0);
  EQUAL(desc.id_dtype, TW_DTYPE_I32);
  EQUAL(desc.offset_dtype, TW_DTYPE_I32);
  EQUAL(desc.score, TW_ROUTE_SOFTMAX);
  EQUAL(desc.group_score, TW_ROUTE_GROUP_BEST);
  EQUAL(desc.flags | desc.max_sms, 0);
  CHECK(desc.scale == 1);
  CHECK(desc.tokens == TW_UNSET && desc.experts == TW_UNSET && desc.top_k == TW_UNSET);
  EQUAL(desc.local_experts | desc.groups | desc.top_groups | desc.logits_pitch, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_route_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.tokens, -1);
  EQUAL(args.logits | args.bias | args.given_ids | args.given_weights | args.expert_map, 0);
  EQUAL(args.ids | args.weights | args.counts | args.offsets | args.order, 0);
  EQUAL(args.order_tokens | args.inverse | args.invalid_count | args.workspace, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_route_desc desc = route_desc();
  PLAN_RULES(tw_route_desc, desc, tw_route_plan, s.device);
#define BAD(status, argument, change)                                   \
  do {                                                                  \
    desc = route_desc();                                                \
    change;                                                             \
    plan = (tw_plan *)&plan;                                            \
    FAILS((status), (argument), tw_route_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 0);
  BAD(TW_ERROR_UNSUPPORTED, "dtype", desc.dtype = TW_DTYPE_F64);
  BAD(TW_ERROR_INVALID_ARGUMENT, "id_dtype", desc.id_dtype = TW_DTYPE_I64);
  BAD(TW_ERROR_UNSUPPORTED, "offset_dtype", desc.offset_dtype = TW_DTYPE_U64);
  BAD(TW_ERROR_INVALID_ARGUMENT, "score", desc.score = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "group_score", (desc.groups = 2, desc.group_score = 2));
  BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 4);
  BAD(TW_ERROR_INVALID_ARGUMENT, "tokens", desc.tokens = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "experts", desc.experts = 0);
  BAD(TW_ERROR_UNSUPPORTED, "experts", desc.experts = 1025);
  BAD(TW_ERROR_INVALID_ARGUMENT, "top_k", desc.top_k = 5);
  BAD(TW_ERROR_UNSUPPORTED, "top_k", (desc.experts = 64, desc.top_k = 33));
  BAD(TW_ERROR_INVALID_ARGUMENT, "local_experts", desc.local_experts = 5);
  BAD(TW_ERROR_INVALID_ARGUMENT, "groups", desc.groups = 3);
  BAD(TW_ERROR_INVALID_ARGUMENT, "top_groups", (desc.groups = 2, desc.top_groups = 3));
  BAD(TW_ERROR_INVALID_ARGUMENT, "logits_pitch", desc.logits_pitch = 3);
  BAD(TW_ERROR_OVERFLOW, "tokens", desc.tokens = INT64_MAX);
  BAD(TW_ERROR_OVERFLOW, "logits_pitch", desc.logits_pitch = INT64_MAX);
#undef BAD
  close_setup(&s);
}

typedef struct results {
  int32_t ids[kPairs], counts[kExperts], offsets[kExperts + 1], order[kPairs], tokens[kPairs];
  int32_t inverse[kPairs];
  float weights[kPairs];
} results;

static void give_results(const setup *s, tw_route_args *args) {
  static const results empty;
  const uint64_t at = uploaded(s, &empty, sizeof empty);
  args->ids = at + offsetof(results, ids);
  args->counts = at + offsetof(results, counts);
  args->offsets = at + offsetof(results, offsets);
  args->order = at + offsetof(results, order);
  args->order_tokens = at + offsetof(results, tokens);
  args->inverse = at + offsetof(results, inverse);
  args->weights = at + offsetof(results, weights);
}

#define SAME(array, ...)                                  \
  do {                                                    \
    static const int32_t wanted_[] = {__VA_ARGS__};       \
    CHECK(sizeof wanted_ == sizeof(array));               \
    CHECK(memcmp((array), wanted_, sizeof wanted_) == 0); \
  } while (0)

static int close_to(float got, double wanted) {
  return got > wanted - 1e-6 && got < wanted + 1e-6;
}

static void routings(void) {
  setup s = open_setup();
  tw_route_desc desc = route_desc();
  tw_route_args args;
  tw_plan *plan = NULL;
  results r;
  desc.flags = TW_ROUTE_RENORMALIZE;
  desc.scale = 2;
  NEED(tw_route_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_ROUTE);
  OK(tw_route_args_init(&args, sizeof args));
  args.logits = uploaded(&s, kLogits, sizeof kLogits);
  give_results(&s, &args);
  OK(tw_route_run(plan, s.stream, &args));
  download(&s, &r, args.ids, sizeof r);
  CHECK(memcmp(r.ids, kIds, sizeof kIds) == 0);
  SAME(r.counts, 1, 2, 2, 1);
  SAME(r.offsets, 0, 1, 3, 5, 6);
  SAME(r.order, 2, 0, 3, 1, 4, 5);
  SAME(r.tokens, 1, 0, 1, 0, 2, 2);
  SAME(r.inverse, 1, 3, 0, 2, 4, 5);
  CHECK(close_to(r.weights[0], 2 * 0.731058578630005));
  CHECK(close_to(r.weights[1], 2 * 0.268941421369995));
  CHECK(close_to(r.weights[2], 1) && close_to(r.weights[5], 1));
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Given ids, one of them invalid, on a rank that owns experts 2 and 3. */
static void given_ids(void) {
  static const int32_t ids[kPairs] = {1, 2, 4, 3, 2, 3}, map[kExperts] = {-1, -1, 0, 1};
  static const float weights[kPairs] = {1, 2, 3, 4, 5, 6};
  setup s = open_setup();
  tw_route_desc desc = route_desc();
  tw_route_args args;
  tw_plan *plan = NULL;
  uint64_t faults = 5;
  results r;
  desc.flags = TW_ROUTE_GIVEN_IDS;
  desc.dtype = 0;
  desc.local_experts = 2;
  NEED(tw_route_plan(s.device, &desc, &plan));
  OK(tw_route_args_init(&args, sizeof args));
  give_results(&s, &args);
  args.given_ids = uploaded(&s, ids, sizeof ids);
  args.given_weights = uploaded(&s, weights, sizeof weights);
  args.expert_map = uploaded(&s, map, sizeof map);
  args.invalid_count = uploaded(&s, &faults, sizeof faults);
  OK(tw_route_run(plan, s.stream, &args));
  download(&s, &r, args.ids, sizeof r);
  download(&s, &faults, args.invalid_count, sizeof faults);
  EQUAL(faults, 6);
  SAME(r.ids, 1, 2, -1, 3, 2, 3);
  SAME(r.order, 1, 4, 3, 5, -1, -1);
  SAME(r.tokens, 0, 2, 1, 2, -1, -1);
  SAME(r.inverse, -1, 0, -1, 2, 1, 3);
  CHECK(r.counts[0] == 2 && r.counts[1] == 2 && r.counts[2] == 0);
  CHECK(r.offsets[0] == 0 && r.offsets[1] == 2 && r.offsets[2] == 4);
  CHECK(memcmp(r.weights, weights, sizeof weights) == 0);
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void runs(void) {
  setup s = open_setup();
  tw_route_desc desc = route_desc();
  tw_route_args args, bad;
  tw_plan *plan = NULL;
  NEED(tw_route_plan(s.device, &desc, &plan));
  OK(tw_route_args_init(&args, sizeof args));
  args.logits = uploaded(&s, kLogits, sizeof kLogits);
  give_results(&s, &args);
  RUN_RULES(tw_route_args, args, tw_route_run, plan, s.stream);
#define BAD(status, argument, change)                                \
  do {                                                               \
    bad = args;                                                      \
    change;                                                          \
    FAILS((status), (argument), tw_route_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "tokens", bad.tokens = kTokens + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "tokens", bad.tokens = -2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "logits", bad.logits = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "given_ids", bad.given_ids = args.logits);
  BAD(TW_ERROR_INVALID_ARGUMENT, "given_weights", bad.given_weights = args.logits);
  BAD(TW_ERROR_MISALIGNED, "logits", bad.logits += 2);
  BAD(TW_ERROR_MISALIGNED, "ids", bad.ids += 2);
  BAD(TW_ERROR_MISALIGNED, "offsets", bad.offsets += 2);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count = args.ids + 4);
  BAD(TW_ERROR_OVERLAP, NULL, bad.ids = bad.logits);
  BAD(TW_ERROR_OVERLAP, NULL, bad.order = bad.ids + 4);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.logits);
#undef BAD
  args.tokens = 0;
  OK(tw_route_run(plan, s.stream, &args));
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* More tokens than one kernel handles require a workspace. */
static void workspaces(void) {
  enum { kMany = 300 };
  static float logits[kMany][kExperts];
  static int32_t order[kMany * kTopK];
  setup s = open_setup();
  tw_route_desc desc = route_desc();
  tw_route_args args;
  tw_plan_info info;
  tw_plan *plan = NULL;
  for (int t = 0; t < kMany; ++t) logits[t][t % kExperts] = 2, logits[t][(t + 1) % kExperts] = 1;
  desc.tokens = kMany;
  NEED(tw_route_plan(s.device, &desc, &plan));
  OK(tw_plan_info_init(&info, sizeof info));
  OK(tw_plan_get_info(plan, &info));
  CHECK(info.workspace_bytes > 0);
  OK(tw_route_args_init(&args, sizeof args));
  args.logits = uploaded(&s, logits, sizeof logits);
  args.order = allocated(&s, sizeof order);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "workspace", tw_route_run(plan, s.stream, &args));
  args.workspace = allocated(&s, info.workspace_bytes);
  args.workspace_bytes = info.workspace_bytes - 1;
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", tw_route_run(plan, s.stream, &args));
  args.workspace_bytes = info.workspace_bytes;
  OK(tw_route_run(plan, s.stream, &args));
  download(&s, order, args.order, sizeof order);
  for (int i = 0, at = 0; i < kExperts; ++i)
    for (int t = 0; t < kMany; ++t)
      for (int slot = 0; slot < kTopK; ++slot)
        if ((t + slot) % kExperts == i) EQUAL(order[at++], t * kTopK + slot);
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(route, route_desc(), tw_route_plan, tw_route_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(routings);
  RUN(given_ids);
  RUN(runs);
  RUN(workspaces);
  RUN(after_the_device);
  return harness_end();
}
