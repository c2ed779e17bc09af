/* SPDX-License-Identifier: Apache-2.0 */
/* The tw_gather_ and tw_scatter_ functions. */
#include "tests/capi/common/plan_harness.h"

enum { kTableRows = 50, kPitch = 72, kColumn = 8, kColumns = 40, kCount = 33, kPacked = 48 };

typedef tw_status (*make_plan)(tw_device *, const tw_rows_desc *, tw_plan **);
typedef tw_status (*run_plan)(tw_plan *, tw_stream *, const tw_rows_args *);

static const struct {
  make_plan plan;
  run_plan run;
  tw_op op;
} kOps[] = {{tw_gather_plan, tw_gather_run, TW_OP_GATHER},
            {tw_scatter_plan, tw_scatter_run, TW_OP_SCATTER}};

static tw_rows_desc rows_desc(void) {
  tw_rows_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_rows_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_F32;
  desc.table_rows = kTableRows;
  desc.table_pitch = kPitch;
  desc.column = kColumn;
  desc.columns = kColumns;
  desc.count = kCount;
  desc.packed_pitch = kPacked;
  return desc;
}

/* In range except for three; each row at most once. */
static void make_indices(int32_t *index) {
  for (int32_t i = 0; i < kCount; ++i) index[i] = (i * 7 + 3) % kTableRows;
  index[4] = -1;
  index[9] = kTableRows;
  index[20] = INT32_MIN;
}

static void inits(void) {
  tw_rows_desc desc;
  tw_rows_args args;
  NULL_FAILS("desc", tw_rows_desc_init(NULL, sizeof(tw_rows_desc)));
  NULL_FAILS("args", tw_rows_args_init(NULL, sizeof(tw_rows_args)));
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_rows_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.index_dtype, TW_DTYPE_I32);
  EQUAL(desc.column, 0);
  EQUAL(desc.table_pitch, 0);
  EQUAL(desc.group, 1);
  EQUAL(desc.flags, 0);
  memset(&args, 0xa5, sizeof args);
  OK(tw_rows_args_init(&args, sizeof args));
  EQUAL(args.struct_size, sizeof args);
  EQUAL(args.count, -1);
  EQUAL(args.table | args.index | args.packed, 0);
}

static void descriptions(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  for (size_t o = 0; o < COUNT(kOps); ++o) {
    const make_plan plans = kOps[o].plan;
    tw_rows_desc desc = rows_desc();
    PLAN_RULES(tw_rows_desc, desc, plans, s.device);
#define BAD(status, argument, change)                           \
  do {                                                          \
    desc = rows_desc();                                         \
    change;                                                     \
    plan = (tw_plan *)&plan;                                    \
    FAILS((status), (argument), plans(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                        \
  } while (0)
    BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 0);
    BAD(TW_ERROR_INVALID_ARGUMENT, "dtype", desc.dtype = 12345);
    BAD(TW_ERROR_INVALID_ARGUMENT, "index_dtype", desc.index_dtype = TW_DTYPE_F32);
    BAD(TW_ERROR_INVALID_ARGUMENT, "index_dtype", desc.index_dtype = 0);
    BAD(TW_ERROR_UNSUPPORTED, "index_dtype", desc.index_dtype = TW_DTYPE_U32);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_rows", desc.table_rows = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "column", desc.column = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "columns", desc.columns = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "count", desc.count = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_pitch", desc.table_pitch = kColumn + kColumns - 1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_pitch", desc.table_pitch = -kPitch);
    BAD(TW_ERROR_INVALID_ARGUMENT, "packed_pitch", desc.packed_pitch = kColumns - 1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "packed_pitch", desc.packed_pitch = -kPacked);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_alignment", desc.table_alignment = 24);
    BAD(TW_ERROR_INVALID_ARGUMENT, "packed_alignment", desc.packed_alignment = 5);
    BAD(TW_ERROR_OVERFLOW, NULL, desc.table_pitch = INT64_MAX);
    BAD(TW_ERROR_OVERFLOW, NULL, (desc.column = INT64_MAX, desc.table_pitch = 0));
#undef BAD
  }
  close_setup(&s);
}

/* Runs each operation and compares with plain loops; `count` -1: the plan's count. */
static void moves_rows(setup *s, size_t o, tw_plan *plan, int64_t count) {
  static float table[kTableRows * kPitch], packed[kCount * kPacked],
      expected_table[kTableRows * kPitch], expected_packed[kCount * kPacked];
  int32_t index[kCount];
  tw_rows_args args;
  const int64_t rows = count < 0 ? kCount : count;
  make_indices(index);
  for (size_t i = 0; i < COUNT(table); ++i) table[i] = (float)i;
  for (size_t i = 0; i < COUNT(packed); ++i) packed[i] = -(float)i - 1;
  memcpy(expected_table, table, sizeof table);
  memcpy(expected_packed, packed, sizeof packed);
  for (int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < kColumns; ++j) {
      const int inside = index[i] >= 0 && index[i] < kTableRows;
      float *row = &expected_packed[i * kPacked + j];
      if (kOps[o].op == TW_OP_GATHER)
        *row = inside ? table[index[i] * kPitch + kColumn + j] : 0;
      else if (inside)
        expected_table[index[i] * kPitch + kColumn + j] = *row;
    }
  OK(tw_rows_args_init(&args, sizeof args));
  args.table = uploaded(s, table, sizeof table);
  args.packed = uploaded(s, packed, sizeof packed);
  args.index = uploaded(s, index, sizeof index);
  args.count = count;
  OK(kOps[o].run(plan, s->stream, &args));
  download(s, table, args.table, sizeof table);
  download(s, packed, args.packed, sizeof packed);
  CHECK(memcmp(table, expected_table, sizeof table) == 0);
  CHECK(memcmp(packed, expected_packed, sizeof packed) == 0);
  OK(tw_free(s->device, args.table));
  OK(tw_free(s->device, args.packed));
  OK(tw_free(s->device, args.index));
}

static void runs(void) {
  setup s = open_setup();
  const uint64_t room = allocated(&s, 1 << 16);
  for (size_t o = 0; o < COUNT(kOps); ++o) {
    const run_plan run = kOps[o].run;
    tw_rows_desc desc = rows_desc();
    tw_rows_args args, bad;
    tw_plan *plan = NULL;
    int32_t index[kCount];
    make_indices(index);
    const uint64_t indices = uploaded(&s, index, sizeof index);
    desc.table_alignment = 32;
    desc.packed_alignment = 16;
    NEED(kOps[o].plan(s.device, &desc, &plan));
    describes_itself(plan, kOps[o].op);
    moves_rows(&s, o, plan, -1);
    moves_rows(&s, o, plan, kCount);
    moves_rows(&s, o, plan, 17);
    moves_rows(&s, o, plan, 0);

    OK(tw_rows_args_init(&args, sizeof args));
    args.table = room;
    args.packed = room + (1 << 15);
    args.index = indices;
    RUN_RULES(tw_rows_args, args, run, plan, s.stream);
#define BAD(status, argument, change)                       \
  do {                                                      \
    bad = args;                                             \
    change;                                                 \
    FAILS((status), (argument), run(plan, s.stream, &bad)); \
  } while (0)
    BAD(TW_ERROR_INVALID_ARGUMENT, "table", bad.table = 0);
    BAD(TW_ERROR_INVALID_ARGUMENT, "packed", bad.packed = 0);
    BAD(TW_ERROR_INVALID_ARGUMENT, "index", bad.index = 0);
    BAD(TW_ERROR_INVALID_ARGUMENT, "count", bad.count = -2);
    BAD(TW_ERROR_INVALID_ARGUMENT, "count", bad.count = kCount + 1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "count", bad.count = INT64_MAX);
    BAD(TW_ERROR_MISALIGNED, "table", bad.table += 16);  /* promised 32 */
    BAD(TW_ERROR_MISALIGNED, "packed", bad.packed += 8); /* promised 16 */
    BAD(TW_ERROR_MISALIGNED, "index", bad.index += 2);
    BAD(TW_ERROR_OVERLAP, NULL, bad.packed = bad.table);
    BAD(TW_ERROR_OVERLAP, NULL, bad.packed = bad.table + 4 * kPitch * (kTableRows - 2));
    if (kOps[o].op == TW_OP_GATHER)
      BAD(TW_ERROR_OVERLAP, NULL, bad.index = bad.packed);
    else
      BAD(TW_ERROR_OVERLAP, NULL, bad.index = bad.table);
#undef BAD
    FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", kOps[1 - o].run(plan, s.stream, &args));
    OK(tw_stream_synchronize(s.stream));
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* The options of each operation, and what it refuses. */
static void options(void) {
  setup s = open_setup();
  tw_plan *plan = NULL;
  for (size_t o = 0; o < COUNT(kOps); ++o) {
    const make_plan plans = kOps[o].plan;
    const int gather = kOps[o].op == TW_OP_GATHER;
    tw_rows_desc desc;
#define TAKES(change)                  \
  do {                                 \
    desc = rows_desc();                \
    change;                            \
    plan = NULL;                       \
    OK(plans(s.device, &desc, &plan)); \
    CHECK(plan != NULL);               \
    tw_plan_destroy(plan);             \
  } while (0)
#define BAD(status, argument, change)                           \
  do {                                                          \
    desc = rows_desc();                                         \
    change;                                                     \
    plan = (tw_plan *)&plan;                                    \
    FAILS((status), (argument), plans(s.device, &desc, &plan)); \
    CHECK(plan == NULL);                                        \
  } while (0)
    BAD(TW_ERROR_INVALID_ARGUMENT, "reduction", desc.reduction = 4);
    BAD(TW_ERROR_INVALID_ARGUMENT, "reduction", desc.reduction = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = 1u << 20);
    BAD(TW_ERROR_INVALID_ARGUMENT, "group", desc.group = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "group", desc.group = 0);
    BAD(TW_ERROR_UNSUPPORTED, "group", desc.group = INT64_MAX);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_columns", desc.table_columns = -1);
    BAD(TW_ERROR_INVALID_ARGUMENT, "packed_dtype", desc.packed_dtype = 12345);
    BAD(TW_ERROR_INVALID_ARGUMENT, "table_pitch", desc.table_columns = kPitch + 1);
    TAKES(desc.table_columns = kColumn + kColumns - 3); /* reaches past the table */
    TAKES(desc.table_columns = kColumn - 3);            /* lies outside the table */
    if (gather) {
      TAKES((desc.column = -5, desc.table_columns = kPitch));
      TAKES(desc.flags = TW_ROWS_WEIGHTS);
      TAKES((desc.flags = TW_ROWS_WEIGHTS, desc.group = 3));
      TAKES(desc.group = 300);
      BAD(TW_ERROR_INVALID_ARGUMENT, "reduction", desc.reduction = TW_REDUCE_ADD);
      BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = TW_SCATTER_LAST_WINS);
      BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = TW_SCATTER_DETERMINISTIC);
      BAD(TW_ERROR_UNSUPPORTED, "dtype", (desc.dtype = TW_DTYPE_I32, desc.group = 2));
      BAD(TW_ERROR_UNSUPPORTED, "dtype", (desc.dtype = TW_DTYPE_U8, desc.flags = TW_ROWS_WEIGHTS));
      BAD(TW_ERROR_UNSUPPORTED, "packed_dtype", desc.packed_dtype = TW_DTYPE_BF16);
    } else {
      TAKES(desc.flags = TW_SCATTER_LAST_WINS);
      TAKES(desc.reduction = TW_REDUCE_MAX);
      TAKES((desc.reduction = TW_REDUCE_ADD, desc.packed_dtype = TW_DTYPE_BF16));
      TAKES((desc.reduction = TW_REDUCE_ADD, desc.flags = TW_SCATTER_DETERMINISTIC));
      TAKES((desc.reduction = TW_REDUCE_MIN, desc.dtype = TW_DTYPE_I64,
             desc.flags = TW_SCATTER_DETERMINISTIC));
      TAKES(
          (desc.reduction = TW_REDUCE_ADD, desc.flags = TW_ROWS_WEIGHTS | TW_ROWS_ACCUMULATE_F32));
      BAD(TW_ERROR_UNSUPPORTED, "column", (desc.column = -5, desc.table_columns = kPitch));
      BAD(TW_ERROR_INVALID_ARGUMENT, "group", desc.group = 2);
      BAD(TW_ERROR_INVALID_ARGUMENT, "flags", desc.flags = TW_ROWS_WEIGHTS);
      BAD(TW_ERROR_INVALID_ARGUMENT, "flags",
          (desc.reduction = TW_REDUCE_ADD, desc.flags = TW_SCATTER_LAST_WINS));
      BAD(TW_ERROR_INVALID_ARGUMENT, "flags",
          (desc.reduction = TW_REDUCE_MIN, desc.flags = TW_ROWS_WEIGHTS));
      BAD(TW_ERROR_UNSUPPORTED, "dtype",
          (desc.reduction = TW_REDUCE_ADD, desc.dtype = TW_DTYPE_U8));
      BAD(TW_ERROR_UNSUPPORTED, "dtype",
          (desc.reduction = TW_REDUCE_ADD, desc.dtype = TW_DTYPE_TF32));
      BAD(TW_ERROR_UNSUPPORTED, "flags",
          (desc.reduction = TW_REDUCE_ADD, desc.dtype = TW_DTYPE_F64,
           desc.flags = TW_SCATTER_DETERMINISTIC));
      BAD(TW_ERROR_UNSUPPORTED, "packed_dtype",
          (desc.reduction = TW_REDUCE_MIN, desc.packed_dtype = TW_DTYPE_BF16));
      BAD(TW_ERROR_UNSUPPORTED, "count",
          (desc.count = INT64_C(1) << 31, desc.flags = TW_SCATTER_LAST_WINS));
    }
#undef TAKES
#undef BAD
  }
  close_setup(&s);
}

/* Operands that a plan requires because of its options. */
static void option_operands(void) {
  setup s = open_setup();
  tw_rows_desc desc = rows_desc();
  tw_rows_args args, bad;
  tw_plan *plan = NULL;
  tw_plan_info info;
  int32_t index[kCount];
  const uint64_t room = allocated(&s, 1 << 17);
  make_indices(index);
  desc.reduction = TW_REDUCE_ADD;
  desc.flags = TW_ROWS_WEIGHTS | TW_SCATTER_DETERMINISTIC;
  NEED(tw_scatter_plan(s.device, &desc, &plan));
  describes_itself(plan, TW_OP_SCATTER);
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  CHECK(info.workspace_bytes > 0 && info.workspace_bytes < 1 << 15);
  OK(tw_rows_args_init(&args, sizeof args));
  args.index = uploaded(&s, index, sizeof index);
  args.table = room;
  args.packed = room + (1 << 15);
  args.weights = room + (1 << 16);
  args.invalid_count = args.weights + 4096;
  args.device_count = args.invalid_count + 8;
  args.workspace = room + (1 << 16) + (1 << 15);
  args.workspace_bytes = info.workspace_bytes;
#define BAD(status, argument, change)                                  \
  do {                                                                 \
    bad = args;                                                        \
    change;                                                            \
    FAILS((status), (argument), tw_scatter_run(plan, s.stream, &bad)); \
  } while (0)
  BAD(TW_ERROR_INVALID_ARGUMENT, "weights", bad.weights = 0);
  BAD(TW_ERROR_MISALIGNED, "weights", bad.weights += 2);
  BAD(TW_ERROR_OVERLAP, "weights", bad.weights = bad.table + 4 * kColumn);
  BAD(TW_ERROR_MISALIGNED, "invalid_count", bad.invalid_count += 4);
  BAD(TW_ERROR_MISALIGNED, "device_count", bad.device_count += 2);
  BAD(TW_ERROR_INVALID_ARGUMENT, "workspace", bad.workspace = 0);
  BAD(TW_ERROR_MISALIGNED, "workspace", bad.workspace += 16);
  BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", bad.workspace_bytes -= 1);
  BAD(TW_ERROR_BUFFER_TOO_SMALL, "workspace_bytes", bad.workspace_bytes = 0);
  /* What a run writes must not overlap the table, the word of `outside` or the workspace. */
  BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.packed);
  BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.table);
  BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.index);
  BAD(TW_ERROR_OVERLAP, "workspace", bad.workspace = bad.weights);
  BAD(TW_ERROR_OVERLAP, "workspace", bad.invalid_count = bad.workspace);
  BAD(TW_ERROR_OVERLAP, "workspace", bad.device_count = bad.workspace + bad.workspace_bytes - 8);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.invalid_count = bad.table + 4 * kColumn);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.invalid_count = bad.packed);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.invalid_count = bad.index);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.invalid_count = bad.weights);
  BAD(TW_ERROR_OVERLAP, "invalid_count", bad.device_count = bad.invalid_count + 4);
  BAD(TW_ERROR_OVERLAP, "device_count", bad.device_count = bad.table + 4 * kColumn);
#undef BAD
  /* Operands that are only read may share bytes. */
  OK(tw_memset(s.stream, room, 0, 1 << 17));
  bad = args;
  bad.device_count = bad.packed;
  bad.weights = bad.packed;
  OK(tw_scatter_run(plan, s.stream, &bad));
  OK(tw_scatter_run(plan, s.stream, &args));
  OK(tw_stream_synchronize(s.stream));
  tw_plan_destroy(plan);

  desc = rows_desc();
  NEED(tw_gather_plan(s.device, &desc, &plan));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "weights", tw_gather_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  close_setup(&s);
}

/* Moves columns within one matrix. */
static void within_one_matrix(void) {
  setup s = open_setup();
  float matrix[4 * 16], moved[4 * 16];
  const int32_t index[4] = {2, 0, 3, 1};
  const uint64_t indices = uploaded(&s, index, sizeof index);
  for (int i = 0; i < 4 * 16; ++i) matrix[i] = (float)i;
  for (size_t o = 0; o < COUNT(kOps); ++o)
    for (int rows = 1; rows <= 4; rows += 3) {
      const int gather = kOps[o].op == TW_OP_GATHER;
      tw_rows_desc desc = rows_desc();
      tw_rows_args args;
      tw_plan *plan = NULL;
      desc.table_rows = 4;
      desc.table_columns = desc.table_pitch = desc.packed_pitch = 16;
      desc.column = desc.columns = 8;
      desc.count = rows;
      NEED(kOps[o].plan(s.device, &desc, &plan));
      OK(tw_rows_args_init(&args, sizeof args));
      args.table = args.packed = uploaded(&s, matrix, sizeof matrix);
      args.index = indices;
      OK(kOps[o].run(plan, s.stream, &args));
      download(&s, moved, args.table, sizeof moved);
      for (int i = 0; i < rows; ++i)
        for (int x = 0; x < 8; ++x)
          CHECK(gather ? moved[16 * i + x] == matrix[16 * index[i] + 8 + x]
                       : moved[16 * index[i] + 8 + x] == matrix[16 * i + x]);
      args.packed = args.table + 4;
      FAILS(TW_ERROR_OVERLAP, "packed", kOps[o].run(plan, s.stream, &args));
      args.packed = args.table + 16 * 4;
      if (rows == 1) OK(kOps[o].run(plan, s.stream, &args));
      OK(tw_stream_synchronize(s.stream));
      OK(tw_free(s.device, args.table));
      tw_plan_destroy(plan);
    }
  close_setup(&s);
}

static void after_the_device(void) {
  for (size_t o = 0; o < COUNT(kOps); ++o)
    AFTER_THE_DEVICE(rows, rows_desc(), kOps[o].plan, kOps[o].run);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(inits);
  RUN(descriptions);
  RUN(runs);
  RUN(options);
  RUN(option_operands);
  RUN(within_one_matrix);
  RUN(after_the_device);
  return harness_end();
}
