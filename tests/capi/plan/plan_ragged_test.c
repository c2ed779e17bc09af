/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_ragged_ functions. */
#include "tests/capi/common/plan_harness.h"

enum { kBatch = 5, kRows = 7, kColumns = 24, kPackedColumns = 32, kTokens = 19 };

static const int32_t kOffsets[kBatch + 1] = {0, 4, 4, 5, 14, 19};

static tw_ragged_desc ragged_desc(void) {
  tw_ragged_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_ragged_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.batch = kBatch;
  desc.tokens = kTokens;
  desc.rows = kRows;
  desc.columns = kColumns;
  desc.packed_columns = kPackedColumns;
  return desc;
}

static void inits(void) {
  tw_ragged_desc desc;
  tw_ragged_args args;
  NULL_FAILS("desc", tw_ragged_desc_init(NULL, sizeof(tw_ragged_desc)));
  NULL_FAILS("args", tw_ragged_args_init(NULL, sizeof(tw_ragged_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_ragged_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.offset_dtype, TW_DTYPE_I32);
  EQUAL(desc.direction, TW_RAGGED_PAD);
  EQUAL(desc.fill, TW_OOB_FILL_ZERO);
  EQUAL(desc.packed_pitch, 0);
  CHECK(desc.batch == TW_UNSET && desc.tokens == TW_UNSET);
  CHECK(desc.rows == TW_UNSET && desc.columns == TW_UNSET);
  memset(&args, 0xa5, sizeof args);
  OK(tw_ragged_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.batch, -1);
  EQUAL(args.tokens, -1);
  EQUAL(args.packed | args.offsets | args.padded | args.invalid_count, 0);
  EQUAL(args.row | args.column, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  tw_ragged_desc desc = ragged_desc();
  PLAN_RULES(tw_ragged_desc, desc, tw_ragged_plan, s.device);
#define BAD(status, argument, change)                                    \
  do {                                                                   \
    desc = ragged_desc();                                                \
    change;                                                              \
    plan = (tw_plan *)&plan;                                             \
    FAILS((status), (argument), tw_ragged_plan(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                                 \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "offset_dtype", desc.offset_dtype = TW_DTYPE_F32);
  BAD(TW_ERROR_UNSUPPORTED, "offset_dtype", desc.offset_dtype = TW_DTYPE_U64);
  BAD(TW_ERROR_INVALID_ARGUMENT, "direction", desc.direction = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "fill", desc.fill = 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "fill",
      (desc.fill = TW_OOB_FILL_NAN, desc.direction = TW_RAGGED_UNPAD));
  BAD(TW_ERROR_UNSUPPORTED, "fill", (desc.fill = TW_OOB_FILL_NAN, desc.dtype = TW_DTYPE_I32));
  BAD(TW_ERROR_INVALID_ARGUMENT, "batch", desc.batch = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "tokens", desc.tokens = INT64_MIN);
  BAD(TW_ERROR_INVALID_ARGUMENT, "rows", desc.rows = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "columns", desc.columns = -1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "packed_columns", desc.packed_columns = kColumns - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "packed_pitch", desc.packed_pitch = kPackedColumns - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "padded_pitch", desc.padded_pitch = kColumns - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "padded_batch_pitch",
      desc.padded_batch_pitch = kRows * kColumns - 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "packed_alignment", desc.packed_alignment = 24);
  BAD(TW_ERROR_INVALID_ARGUMENT, "padded_alignment", desc.padded_alignment = 2);
  BAD(TW_ERROR_OVERFLOW, NULL, desc.packed_pitch = INT64_MAX);
  BAD(TW_ERROR_OVERFLOW, NULL, desc.rows = INT64_MAX);
#undef BAD
  close_setup(&s);
}

/* Runs one direction and compares with plain loops. */
static void moves(setup *s, int unpad, int64_t row, int64_t column, int64_t batch) {
  static float packed[kTokens][kPackedColumns], padded[kBatch][kRows][kColumns];
  static float expected_packed[kTokens][kPackedColumns], expected_padded[kBatch][kRows][kColumns];
  tw_ragged_desc desc = ragged_desc();
  tw_ragged_args args;
  tw_plan *plan = NULL;
  for (int t = 0; t < kTokens; ++t)
    for (int x = 0; x < kPackedColumns; ++x) packed[t][x] = (float)(100 * t + x);
  for (int i = 0; i < kBatch * kRows * kColumns; ++i) (&padded[0][0][0])[i] = (float)-i - 1;
  memcpy(expected_packed, packed, sizeof packed);
  memcpy(expected_padded, padded, sizeof padded);
  for (int b = 0; b < (batch < 0 ? kBatch : batch); ++b)
    for (int r = 0; r < kRows; ++r) {
      const int64_t of_sequence = row + r;
      const int has = of_sequence >= 0 && of_sequence < kOffsets[b + 1] - kOffsets[b];
      for (int x = 0; x < kColumns; ++x) {
        if (unpad && has) expected_packed[kOffsets[b] + of_sequence][column + x] = padded[b][r][x];
        if (!unpad)
          expected_padded[b][r][x] = has ? packed[kOffsets[b] + of_sequence][column + x] : 0;
      }
    }
  desc.direction = unpad ? TW_RAGGED_UNPAD : TW_RAGGED_PAD;
  NEED(tw_ragged_plan(s->device, &desc, &plan));
  describes_itself(plan, TW_OP_RAGGED);
  OK(tw_ragged_args_init(&args, sizeof args));
  args.packed = uploaded(s, packed, sizeof packed);
  args.padded = uploaded(s, padded, sizeof padded);
  args.offsets = uploaded(s, kOffsets, sizeof kOffsets);
  args.batch = batch;
  args.row = row;
  args.column = column;
  OK(tw_ragged_run(plan, s->stream, &args));
  download(s, packed, args.packed, sizeof packed);
  download(s, padded, args.padded, sizeof padded);
  CHECK(memcmp(packed, expected_packed, sizeof packed) == 0);
  CHECK(memcmp(padded, expected_padded, sizeof padded) == 0);
  OK(tw_free(s->device, args.packed));
  OK(tw_free(s->device, args.padded));
  OK(tw_free(s->device, args.offsets));
  tw_plan_destroy(plan);
}

static void windows(void) {
  setup s = open_setup();
  for (int unpad = 0; unpad < 2; ++unpad) {
    moves(&s, unpad, 0, 0, -1);
    moves(&s, unpad, 2, 4, -1);
    moves(&s, unpad, -3, 8, kBatch);
    moves(&s, unpad, 5, 3, 3);
    moves(&s, unpad, 0, 0, 0);
  }
  close_setup(&s);
}

static void runs(void) {
  setup s = open_setup();
  tw_ragged_desc desc = ragged_desc();
  tw_ragged_args args, bad;
  tw_plan *plan = NULL;
  const uint64_t room = allocated(&s, 1 << 16);
  desc.packed_alignment = desc.padded_alignment = 16;
  NEED(tw_ragged_plan(s.device, &desc, &plan));
  OK(tw_ragged_args_init(&args, sizeof args));
  args.packed = room;
  args.padded = room + (1 << 15);
  args.offsets = uploaded(&s, kOffsets, sizeof kOffsets);
  OK(tw_memset(s.stream, room, 0, 1 << 16));
  RUN_RULES(tw_ragged_args, args, tw_ragged_run, plan, s.stream);
#define BAD(status, argument, change)                                 \
  do {                                                                \
    bad = args;                                                       \
    change;                                                           \
    FAILS((status), (argument), tw_ragged_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "packed", bad.packed = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "padded", bad.padded = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "offsets", bad.offsets = 0);
  BAD(TW_ERROR_INVALID_ARGUMENT, "batch", bad.batch = kBatch + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "batch", bad.batch = -2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "tokens", bad.tokens = kTokens + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "column", bad.column = kPackedColumns - kColumns + 1);
  BAD(TW_ERROR_INVALID_ARGUMENT, "column", bad.column = INT64_MIN);
  BAD(TW_ERROR_MISALIGNED, "packed", bad.packed += 8); /* promised 16 */
  BAD(TW_ERROR_MISALIGNED, "padded", bad.padded += 4);
  BAD(TW_ERROR_MISALIGNED, "offsets", bad.offsets += 2);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count = room + 4);
  BAD(TW_ERROR_OVERLAP, NULL, bad.packed = bad.padded);
  BAD(TW_ERROR_OVERLAP, NULL, bad.offsets = bad.padded);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.offsets);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.padded);
  BAD(TW_ERROR_OVERLAP, NULL, bad.invalid_count = bad.packed);
#undef BAD
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Invalid offsets are counted if the caller asks for it. Otherwise the host device refuses the run
 * before anything is written. */
static void faults(void) {
  static const int32_t wrong[kBatch + 1] = {0, 4, 3, 5, 20, 19};
  setup s = open_setup();
  tw_ragged_desc desc = ragged_desc();
  tw_ragged_args args;
  tw_error_info info;
  tw_plan *plan = NULL;
  uint64_t counted = 0;
  unsigned char bytes[kBatch * kRows * kColumns * 4], same[sizeof bytes];
  memset(bytes, 0x5a, sizeof bytes);
  memset(same, 0x5a, sizeof same);
  desc.packed_columns = 0;
  NEED(tw_ragged_plan(s.device, &desc, &plan));
  OK(tw_ragged_args_init(&args, sizeof args));
  args.packed = allocated(&s, kTokens * kColumns * 4);
  OK(tw_memset(s.stream, args.packed, 0, kTokens * kColumns * 4));
  args.padded = uploaded(&s, bytes, sizeof bytes);
  args.offsets = uploaded(&s, wrong, sizeof wrong);
  if (harness.kind == TW_DEVICE_HOST) {
    FAILS(TW_ERROR_INVALID_ARGUMENT, "offsets", tw_ragged_run(plan, s.stream, &args));
    tw_error_info_init(&info, sizeof info);
    OK(tw_last_error_info(&info));
    EQUAL(info.index, 2);
    EQUAL(info.got, 3);
    EQUAL(info.limit, kTokens);
    download(&s, bytes, args.padded, sizeof bytes);
    CHECK(memcmp(bytes, same, sizeof bytes) == 0);
  }
  args.invalid_count = uploaded(&s, &counted, sizeof counted);
  OK(tw_ragged_run(plan, s.stream, &args));
  OK(tw_ragged_run(plan, s.stream, &args));
  download(&s, &counted, args.invalid_count, sizeof counted);
  EQUAL(counted, 2 * 3); /* 4 to 3, 5 to 20, 20 to 19 */
  download(&s, bytes, args.padded, sizeof bytes);
  memset(same, 0, sizeof same);
  CHECK(memcmp(bytes, same, sizeof bytes) == 0);
  tw_plan_destroy(plan);
  close_setup(&s);
}

static void after_the_device(void) {
  AFTER_THE_DEVICE(ragged, ragged_desc(), tw_ragged_plan, tw_ragged_run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(windows);
  RUN(runs);
  RUN(faults);
  RUN(after_the_device);
  return harness_end();
}
