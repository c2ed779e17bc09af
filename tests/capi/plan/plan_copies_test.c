/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_copies_ functions. */
#include "tests/capi/common/plan_harness.h"

enum { kCount = 6, kRows = 5, kColumns = 12, kSrcPitch = 16, kDstPitch = 20 };
enum { kSrcBytes = kRows * kSrcPitch * 4, kDstBytes = kRows * kDstPitch * 4 };

static tw_copies_desc copies_desc(void) {
  tw_copies_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_copies_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.rank = 2;
  desc.shape[0] = kRows;
  desc.shape[1] = kColumns;
  desc.src_stride[0] = kSrcPitch;
  desc.dst_stride[0] = kDstPitch;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  desc.count = kCount;
  return desc;
}

static void inits(void) {
  tw_copies_desc desc;
  tw_copies_args args;
  NULL_FAILS("desc", tw_copies_desc_init(NULL, sizeof(tw_copies_desc)));
  NULL_FAILS("args", tw_copies_args_init(NULL, sizeof(tw_copies_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_copies_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.rank | desc.max_sms, 0);
  CHECK(desc.count == TW_UNSET && desc.shape[0] == TW_UNSET && desc.dst_stride[7] == TW_UNSET);
  memset(&args, 0xa5, sizeof args);
  OK(tw_copies_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.count, -1);
  EQUAL(args.src | args.dst | args.invalid_count, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_copies_desc desc = copies_desc();
  PLAN_RULES(tw_copies_desc, desc, tw_copies_plan, s.device);
#define BAD(status, argument, change)                                    \
  do {                                                                   \
    desc = copies_desc();                                                \
    change;                                                              \
    plan = (tw_plan *)&plan;                                             \
    FAILS((status), (argument), tw_copies_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                 \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 12345);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rank", desc.rank = 9);
  BAD(TW_ERROR_INVALID_ARGUMENT, "shape", desc.shape[1] = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "count", desc.count = -1);
  BAD(TW_ERROR_OVERFLOW, "count", desc.count = INT64_MAX);
  BAD(TW_ERROR_INVALID_ARGUMENT, "src_alignment", desc.src_alignment = 24);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst_alignment", desc.dst_alignment = 2);
  BAD(TW_ERROR_OVERLAP, "dst_stride", desc.dst_stride[0] = kColumns - 1);
  BAD(TW_ERROR_OVERFLOW, NULL, desc.src_stride[0] = INT64_MAX);
#undef BAD
  close_setup(&s);
}

/* Every second pair of matrices is copied; the others have an address of 0 or a misaligned one. */
static void moves(setup *s, int faulty, int64_t count) {
  static float from[kCount][kRows][kSrcPitch], to[kCount][kRows][kDstPitch];
  static float expected[kCount][kRows][kDstPitch];
  uint64_t src_list[kCount], dst_list[kCount], skipped = 0, left_out = 0;
  tw_copies_desc desc = copies_desc();
  tw_copies_args args;
  tw_plan *plan = NULL;
  for (int i = 0; i < kCount * kRows * kSrcPitch; ++i) (&from[0][0][0])[i] = (float)i;
  for (int i = 0; i < kCount * kRows * kDstPitch; ++i) (&to[0][0][0])[i] = (float)-i - 1;
  memcpy(expected, to, sizeof to);
  const uint64_t src = uploaded(s, from, sizeof from), dst = uploaded(s, to, sizeof to);
  for (int i = 0; i < kCount; ++i) {
    const int target = kCount - 1 - i;
    src_list[i] = src + (uint64_t)i * kSrcBytes;
    dst_list[i] = dst + (uint64_t)target * kDstBytes;
    if (faulty && i == 1) src_list[i] = 0;
    if (faulty && i == 2) dst_list[i] = 0;
    if (faulty && i == 4) dst_list[i] += 2;
    const int good = src_list[i] != 0 && dst_list[i] % 4 == 0 && dst_list[i] != 0;
    if (i >= (count < 0 ? kCount : count)) continue;
    left_out += !good;
    for (int r = 0; r < kRows && good; ++r)
      memcpy(expected[target][r], from[i][r], kColumns * sizeof(float));
  }
  NEED(tw_copies_plan(s->device, &desc, &plan));
  describes_itself(plan, TW_OP_COPIES);
  OK(tw_copies_args_init(&args, sizeof args));
  args.src = uploaded(s, src_list, sizeof src_list);
  args.dst = uploaded(s, dst_list, sizeof dst_list);
  args.count = count;
  if (left_out != 0 && harness.kind == TW_DEVICE_HOST) {
    tw_error_info info;
    FAILS(TW_ERROR_INVALID_ARGUMENT, "src", tw_copies_run(plan, s->stream, &args));
    tw_error_info_init(&info, sizeof info);
    OK(tw_last_error_info(&info));
    EQUAL(info.index, 1);
    float now[kRows][kDstPitch];
    download(s, now, dst + (kCount - 1) * (uint64_t)kDstBytes, sizeof now);
    CHECK(memcmp(now, to[kCount - 1], sizeof now) == 0);
  }
  args.invalid_count = uploaded(s, &skipped, sizeof skipped);
  OK(tw_copies_run(plan, s->stream, &args));
  download(s, to, dst, sizeof to);
  download(s, &skipped, args.invalid_count, sizeof skipped);
  CHECK(memcmp(to, expected, sizeof to) == 0);
  EQUAL(skipped, left_out);
  OK(tw_free(s->device, src));
  OK(tw_free(s->device, dst));
  OK(tw_free(s->device, args.src));
  OK(tw_free(s->device, args.dst));
  OK(tw_free(s->device, args.invalid_count));
  tw_plan_destroy(plan);
}

static void copies(void) {
  setup s = open_setup();
  for (int faulty = 0; faulty < 2; ++faulty) {
    moves(&s, faulty, -1);
    moves(&s, faulty, 3);
    moves(&s, faulty, 0);
  }
  close_setup(&s);
}

static void runs(void) {
  setup s = open_setup();
  tw_copies_desc desc = copies_desc();
  tw_copies_args args, bad;
  tw_plan *plan = NULL;
  const uint64_t room = allocated(&s, 4096);
  OK(tw_memset(s.stream, room, 0, 4096));
  NEED(tw_copies_plan(s.device, &desc, &plan));
  OK(tw_copies_args_init(&args, sizeof args));
  args.src = room;
  args.dst = room + 64;
  args.invalid_count = room + 128;
  RUN_RULES(tw_copies_args, args, tw_copies_run, plan, s.stream);
#define BAD(status, argument, change)                                 \
  do {                                                                \
    bad = args;                                                       \
    change;                                                           \
    FAILS((status), (argument), tw_copies_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "src", bad.src = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "dst", bad.dst = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "count", bad.count = kCount + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "count", bad.count = -2);
  BAD(TW_ERROR_MISALIGNED, "src", bad.src += 4);
  BAD(TW_ERROR_MISALIGNED, "dst", bad.dst += 1);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count += 4);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.src);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.dst + (kCount - 1) * 8);
#undef BAD
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(copies, copies_desc(), tw_copies_plan, tw_copies_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(copies);
  RUN(runs);
  RUN(after_the_device);
  return harness_end();
}
