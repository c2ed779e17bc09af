/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static tw_layout *parsed(const char *text) {
  tw_layout *layout = NULL;
  if (!OK(tw_layout_parse(text, &layout))) {
    printf("    %s\n", text);
    exit(1);
  }
  return layout;
}

static void has_text(const tw_layout *layout, const char *expected) {
  char text[512] = "";
  OK(tw_layout_format(layout, text, sizeof text, NULL));
  TEXT(text, expected);
}

static void parse(void) {
  static const char *const good[][2] = {
      {"((2,3),4):((1,8),2)", "((2,3),4):((1,8),2)"},
      {" ( ( 2 , 3 ) , 4 ) : ( ( 1 , 8 ) , 2 ) ", "((2,3),4):((1,8),2)"},
      {"(2,3)", "(2,3):(1,2)"},
      {"(2,(3,4))", "(2,(3,4)):(1,(2,6))"},
      {"7", "7:1"},
      {"8:0", "8:0"},
      {"(4,2):(-1,4)", "(4,2):(-1,4)"},
      {"(0,0) o (1024,512):(1@1,1@0)", "(0,0) o (1024,512):(1@1,1@0)"},
  };
  static const char *const bad[] = {
      "",     " ",           "(",       ")",
      "(2,3", "2,3)",        "(2,3))",  "2:",
      ":1",   "(2,3):(1)",   "(2,3):1", "(2,(3,4)):(1,2,3)",
      "a",    "2:b",         "(2,,3)",  "(2,3):",
      "2 3",  "(2,3) (1,2)", "1@",      "(2,3):(1,2)x",
      "0:1",  "(2,0):(1,2)", "-1:1",    "(2,-3)",
      "2.5",  "0x10:1",      "(0,0) o", "o (2,3)",
      "((((",
  };
  char deep[128], wide[512];
  tw_layout *layout = NULL;
  for (size_t i = 0; i < COUNT(good); ++i) {
    layout = parsed(good[i][0]);
    has_text(layout, good[i][1]);
    tw_layout_destroy(layout);
  }
  for (size_t i = 0; i < COUNT(bad); ++i) {
    layout = (tw_layout *)&layout;
    if (!FAILS(TW_ERROR_PARSE, "text", tw_layout_parse(bad[i], &layout)))
      printf("    text \"%s\"\n", bad[i]);
    CHECK(layout == NULL);
  }
  NULL_FAILS("layout", tw_layout_parse("2", NULL));
  layout = (tw_layout *)&layout;
  NULL_FAILS("text", tw_layout_parse(NULL, &layout));
  CHECK(layout == NULL);

  /* 17 levels, 33 leaves, and numbers beyond 64 bits. */
  memset(deep, '(', 17);
  strcpy(deep + 17, "2,2");
  memset(deep + 20, ')', 17);
  deep[37] = '\0';
  layout = (tw_layout *)&layout;
  FAILS(TW_ERROR_CAPACITY, NULL, tw_layout_parse(deep, &layout));
  CHECK(layout == NULL);
  strcpy(wide, "(1");
  for (int i = 1; i < TW_LAYOUT_MAX_LEAVES + 1; ++i) strcat(wide, ",1");
  strcat(wide, ")");
  FAILS(TW_ERROR_CAPACITY, NULL, tw_layout_parse(wide, &layout));
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_layout_parse("99999999999999999999:1", &layout));
  FAILS(TW_ERROR_OVERFLOW, NULL, tw_layout_parse("(4294967296,4294967296):(1,1)", &layout));
  FAILS(TW_ERROR_OVERFLOW, NULL,
        tw_layout_parse("(4294967296,4294967296):(1,4294967296)", &layout));
  CHECK(layout == NULL);
}

static void create(void) {
  const int64_t shape[] = {2, 3, 4}, stride[] = {12, 4, 1};
  int64_t many[TW_LAYOUT_MAX_LEAVES + 1];
  int32_t number = 0;
  tw_layout *layout = NULL;
  NEED(tw_layout_create(3, shape, stride, &layout));
  has_text(layout, "(2,3,4):(12,4,1)");
  tw_layout_destroy(layout);
  NEED(tw_layout_create(3, shape, NULL, &layout));
  has_text(layout, "(2,3,4):(1,2,6)");
  tw_layout_destroy(layout);
  for (int i = 0; i <= TW_LAYOUT_MAX_LEAVES; ++i) many[i] = 1;
  NEED(tw_layout_create(TW_LAYOUT_MAX_LEAVES, many, NULL, &layout));
  OK(tw_layout_leaves(layout, &number));
  EQUAL(number, TW_LAYOUT_MAX_LEAVES);
  tw_layout_destroy(layout);

  NULL_FAILS("layout", tw_layout_create(3, shape, stride, NULL));
  layout = (tw_layout *)&layout;
  NULL_FAILS("shape", tw_layout_create(3, NULL, stride, &layout));
  CHECK(layout == NULL);
  {
    const int32_t ranks[] = {0, -1, TW_LAYOUT_MAX_LEAVES + 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(ranks); ++i) {
      layout = (tw_layout *)&layout;
      poison_();
      const tw_status status = tw_layout_create(ranks[i], many, NULL, &layout);
      CHECK(status == TW_ERROR_INVALID_ARGUMENT || status == TW_ERROR_CAPACITY);
      CHECK(layout == NULL);
      CHECK(strstr(tw_last_error(), "rank") != NULL);
    }
  }
  {
    const int64_t extents[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < COUNT(extents); ++i) {
      many[1] = extents[i];
      FAILS(TW_ERROR_INVALID_ARGUMENT, "shape", tw_layout_create(3, many, NULL, &layout));
      CHECK(layout == NULL);
    }
  }
  {
    const int64_t large[] = {INT64_MAX, 2}, strides[] = {1, INT64_MAX};
    const int64_t corner[] = {3, 2}, lowest[] = {INT64_MIN, 1};
    FAILS(TW_ERROR_OVERFLOW, NULL, tw_layout_create(2, large, NULL, &layout));
    FAILS(TW_ERROR_OVERFLOW, NULL, tw_layout_create(2, large, strides, &layout));
    FAILS(TW_ERROR_OVERFLOW, NULL, tw_layout_create(2, corner, lowest, &layout));
    CHECK(layout == NULL);
  }
  tw_layout_destroy(NULL);
}

static void format(void) {
  const char *text = "((2,3),4):((1,8),2)";
  const size_t needed = strlen(text) + 1;
  tw_layout *layout = parsed(text);
  char buffer[64];
  size_t length = 0;
  OK(tw_layout_format(layout, NULL, 0, &length));
  EQUAL(length, needed);
  length = 0;
  OK(tw_layout_format(layout, buffer, needed, &length));
  EQUAL(length, needed);
  TEXT(buffer, text);
  /* A buffer that is too small gets the beginning, terminated, and nothing behind it. */
  for (size_t capacity = 1; capacity < needed; ++capacity) {
    memset(buffer, '#', sizeof buffer);
    length = 0;
    FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity",
          tw_layout_format(layout, buffer, capacity, &length));
    EQUAL(length, needed);
    EQUAL(strlen(buffer), capacity - 1);
    CHECK(strncmp(buffer, text, capacity - 1) == 0);
    CHECK(buffer[capacity] == '#');
  }
  NULL_FAILS("layout", tw_layout_format(NULL, buffer, sizeof buffer, NULL));
  NULL_FAILS("buffer", tw_layout_format(layout, NULL, 8, &length));
  tw_layout_destroy(layout);
}

static void numbers(void) {
  static const struct {
    const char *text;
    int64_t size, cosize;
    int32_t rank, depth, leaves;
  } rows[] = {
      {"7", 7, 7, 1, 0, 1},
      {"8:0", 8, 1, 1, 0, 1},
      {"(2,3)", 6, 6, 2, 1, 2},
      {"((2,3),4):((1,8),2)", 24, 24, 2, 2, 3},
      {"(4,3):(1,100)", 12, 204, 2, 1, 2},
      {"(4,2):(-1,4)", 8, 8, 2, 1, 2},
      {"(2,(3,(4,5)))", 120, 120, 2, 3, 4},
  };
  tw_layout *layout = NULL;
  int64_t wide = 77;
  int32_t narrow = 77;
  for (size_t i = 0; i < COUNT(rows); ++i) {
    layout = parsed(rows[i].text);
    OK(tw_layout_size(layout, &wide));
    EQUAL(wide, rows[i].size);
    OK(tw_layout_cosize(layout, &wide));
    EQUAL(wide, rows[i].cosize);
    OK(tw_layout_rank(layout, &narrow));
    EQUAL(narrow, rows[i].rank);
    OK(tw_layout_depth(layout, &narrow));
    EQUAL(narrow, rows[i].depth);
    OK(tw_layout_leaves(layout, &narrow));
    EQUAL(narrow, rows[i].leaves);
    tw_layout_destroy(layout);
  }
  layout = parsed("(1024,512):(1@1,1@0)");
  OK(tw_layout_size(layout, &wide));
  EQUAL(wide, 1024 * 512);
  wide = 77;
  FAILS(TW_ERROR_UNSUPPORTED, NULL, tw_layout_cosize(layout, &wide));
  EQUAL(wide, 0);

  NULL_FAILS("size", tw_layout_size(layout, NULL));
  NULL_FAILS("cosize", tw_layout_cosize(layout, NULL));
  NULL_FAILS("rank", tw_layout_rank(layout, NULL));
  NULL_FAILS("depth", tw_layout_depth(layout, NULL));
  NULL_FAILS("leaves", tw_layout_leaves(layout, NULL));
  wide = 77;
  NULL_FAILS("layout", tw_layout_size(NULL, &wide));
  EQUAL(wide, 0);
  wide = 77;
  NULL_FAILS("layout", tw_layout_cosize(NULL, &wide));
  EQUAL(wide, 0);
  narrow = 77;
  NULL_FAILS("layout", tw_layout_rank(NULL, &narrow));
  EQUAL(narrow, 0);
  narrow = 77;
  NULL_FAILS("layout", tw_layout_depth(NULL, &narrow));
  EQUAL(narrow, 0);
  narrow = 77;
  NULL_FAILS("layout", tw_layout_leaves(NULL, &narrow));
  EQUAL(narrow, 0);
  tw_layout_destroy(layout);
}

static void mode(void) {
  const int32_t bad[] = {-1, 2, 3, INT32_MIN, INT32_MAX};
  tw_layout *layout = parsed("((2,3),4):((1,8),2)");
  tw_layout *out = NULL;
  NEED(tw_layout_mode(layout, 0, &out));
  has_text(out, "(2,3):(1,8)");
  tw_layout_destroy(out);
  NEED(tw_layout_mode(layout, 1, &out));
  has_text(out, "4:2");
  tw_layout_destroy(layout);
  /* The result does not depend on its source. */
  has_text(out, "4:2");
  tw_layout_destroy(out);
  layout = parsed("((2,3),4):((1,8),2)");
  for (size_t i = 0; i < COUNT(bad); ++i) {
    out = (tw_layout *)&out;
    FAILS(TW_ERROR_INVALID_ARGUMENT, "mode", tw_layout_mode(layout, bad[i], &out));
    CHECK(out == NULL);
  }
  NULL_FAILS("out", tw_layout_mode(layout, 0, NULL));
  out = (tw_layout *)&out;
  NULL_FAILS("layout", tw_layout_mode(NULL, 0, &out));
  CHECK(out == NULL);
  tw_layout_destroy(layout);
}

static void coordinates(void) {
  tw_layout *layout = parsed("((2,3),4):((1,8),2)");
  const int64_t linear[] = {23}, modes[] = {5, 3}, leaves[] = {1, 2, 3};
  int64_t index = 77, back = 77, coord[4] = {0};
  OK(tw_layout_crd2idx(layout, linear, 1, &index));
  EQUAL(index, 23);
  OK(tw_layout_crd2idx(layout, modes, 2, &index));
  EQUAL(index, 23);
  OK(tw_layout_crd2idx(layout, leaves, 3, &index));
  EQUAL(index, 23);
  /* Every coordinate to its index and back. */
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t expected = i % 2 + i / 2 % 3 * 8 + i / 6 * 2;
    OK(tw_layout_crd2idx(layout, &i, 1, &index));
    EQUAL(index, expected);
    coord[3] = 4711;
    OK(tw_layout_idx2crd(layout, i, coord, 3));
    EQUAL(coord[0], i % 2);
    EQUAL(coord[1], i / 2 % 3);
    EQUAL(coord[2], i / 6);
    EQUAL(coord[3], 4711);
    OK(tw_layout_crd2idx(layout, coord, 3, &index));
    EQUAL(index, expected);
    OK(tw_layout_find(layout, index, &back));
    EQUAL(back, i);
  }
  {
    const int32_t counts[] = {0, -1, 4, INT32_MIN, INT32_MAX};
    const int64_t outside[][3] = {{24, 0, 0}, {-1, 0, 0}, {INT64_MAX, 0, 0}, {INT64_MIN, 0, 0}};
    for (size_t i = 0; i < COUNT(counts); ++i) {
      index = 77;
      FAILS(TW_ERROR_INVALID_ARGUMENT, "count",
            tw_layout_crd2idx(layout, leaves, counts[i], &index));
      EQUAL(index, 0);
    }
    for (size_t i = 0; i < COUNT(outside); ++i)
      for (int32_t count = 1; count <= 3; ++count) {
        index = 77;
        FAILS(TW_ERROR_INVALID_ARGUMENT, "coord",
              tw_layout_crd2idx(layout, outside[i], count, &index));
        EQUAL(index, 0);
      }
  }
  NULL_FAILS("index", tw_layout_crd2idx(layout, linear, 1, NULL));
  index = 77;
  NULL_FAILS("layout", tw_layout_crd2idx(NULL, linear, 1, &index));
  EQUAL(index, 0);
  NULL_FAILS("coord", tw_layout_crd2idx(layout, NULL, 1, &index));

  NULL_FAILS("layout", tw_layout_idx2crd(NULL, 0, coord, 3));
  NULL_FAILS("coord", tw_layout_idx2crd(layout, 0, NULL, 3));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "linear", tw_layout_idx2crd(layout, -1, coord, 3));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "linear", tw_layout_idx2crd(layout, 24, coord, 3));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "linear", tw_layout_idx2crd(layout, INT64_MAX, coord, 3));
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", tw_layout_idx2crd(layout, 0, coord, 2));
  NULL_FAILS("linear", tw_layout_find(layout, 0, NULL));
  tw_layout_destroy(layout);

  back = 77;
  NULL_FAILS("layout", tw_layout_find(NULL, 0, &back));
  EQUAL(back, 0);
  layout = parsed("(4,3):(1,100)");
  OK(tw_layout_find(layout, 203, &back));
  EQUAL(back, 11);
  {
    const int64_t missing[] = {4, 99, 204, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < COUNT(missing); ++i) {
      back = 77;
      FAILS(TW_ERROR_NOT_FOUND, "index", tw_layout_find(layout, missing[i], &back));
      EQUAL(back, 0);
    }
  }
  tw_layout_destroy(layout);
  /* The smallest coordinate with this index. */
  layout = parsed("(4,3):(0,1)");
  OK(tw_layout_find(layout, 2, &back));
  EQUAL(back, 8);
  tw_layout_destroy(layout);
}

static void coordinate_tensors(void) {
  tw_layout *layout = parsed("(1024,512):(1@1,1@0)");
  const int64_t coord[] = {3, 7}, outside[] = {1024, 0};
  int64_t out[4] = {77, 77, 77, 77}, index = 77;
  int32_t written = 77;
  OK(tw_layout_crd2crd(layout, coord, 2, out, 4, &written));
  EQUAL(written, 2);
  EQUAL(out[0], 7);
  EQUAL(out[1], 3);
  EQUAL(out[2], 77);
  index = 77;
  FAILS(TW_ERROR_UNSUPPORTED, NULL, tw_layout_crd2idx(layout, coord, 2, &index));
  EQUAL(index, 0);
  written = 77;
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity",
        tw_layout_crd2crd(layout, coord, 2, out, 1, &written));
  EQUAL(written, 2);
  written = 77;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "coord",
        tw_layout_crd2crd(layout, outside, 2, out, 4, &written));
  EQUAL(written, 0);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "count", tw_layout_crd2crd(layout, coord, 3, out, 4, &written));
  NULL_FAILS("layout", tw_layout_crd2crd(NULL, coord, 2, out, 4, &written));
  NULL_FAILS("coord", tw_layout_crd2crd(layout, NULL, 2, out, 4, &written));
  NULL_FAILS("out", tw_layout_crd2crd(layout, coord, 2, NULL, 4, &written));
  NULL_FAILS("written", tw_layout_crd2crd(layout, coord, 2, out, 4, NULL));
  tw_layout_destroy(layout);

  layout = parsed("(5,6) o (8,8):(1@1,1@0)");
  OK(tw_layout_crd2crd(layout, coord, 2, out, 4, &written));
  EQUAL(out[0], 5 + 7);
  EQUAL(out[1], 6 + 3);
  tw_layout_destroy(layout);
}

static void local_tile(void) {
  tw_layout *layout = parsed("(8,6):(1,8)");
  tw_layout *out = NULL;
  const int64_t tile[] = {4, 3}, coord[] = {1, 1}, zero_tile[] = {4, 0}, far[] = {2, 0};
  const int64_t negative[] = {0, -1};
  int64_t offset = 77;
  NEED(tw_layout_local_tile(layout, 2, tile, coord, &out, &offset));
  EQUAL(offset, 4 + 3 * 8);
  has_text(out, "(4,3):(1,8)");
  tw_layout_destroy(out);

  const struct {
    int32_t rank;
    const int64_t *tile, *coord;
    const char *argument;
  } bad[] = {
      {0, tile, coord, "rank"},         {-1, tile, coord, "rank"}, {3, tile, coord, "rank"},
      {INT32_MAX, tile, coord, "rank"}, {2, NULL, coord, "tile"},  {2, tile, NULL, "coord"},
      {2, zero_tile, coord, "tile"},    {2, tile, far, "coord"},   {2, tile, negative, "coord"},
  };
  for (size_t i = 0; i < COUNT(bad); ++i) {
    out = (tw_layout *)&out;
    offset = 77;
    FAILS(TW_ERROR_INVALID_ARGUMENT, bad[i].argument,
          tw_layout_local_tile(layout, bad[i].rank, bad[i].tile, bad[i].coord, &out, &offset));
    CHECK(out == NULL);
    EQUAL(offset, 0);
  }
  out = (tw_layout *)&out;
  offset = 77;
  NULL_FAILS("layout", tw_layout_local_tile(NULL, 2, tile, coord, &out, &offset));
  CHECK(out == NULL);
  EQUAL(offset, 0);
  offset = 77;
  NULL_FAILS("out", tw_layout_local_tile(layout, 2, tile, coord, NULL, &offset));
  EQUAL(offset, 0);
  out = (tw_layout *)&out;
  NULL_FAILS("offset", tw_layout_local_tile(layout, 2, tile, coord, &out, NULL));
  CHECK(out == NULL);
  tw_layout_destroy(layout);

  /* In a coordinate tensor the offset is the tile's own origin. */
  layout = parsed("(0,0) o (1024,512):(1@1,1@0)");
  {
    const int64_t block[] = {128, 64}, where[] = {2, 3};
    NEED(tw_layout_local_tile(layout, 2, block, where, &out, &offset));
    EQUAL(offset, 0);
    has_text(out, "(192,256) o (128,64):(1@1,1@0)");
    tw_layout_destroy(out);
  }
  tw_layout_destroy(layout);
}

/* Operations that find no answer on the way are not failures of the call: the thread's last failure
 * must stay, as the harness checks after each call. */
static void answers_without_failure(void) {
  tw_layout *a = NULL, *b = NULL, *common = NULL;
  tw_tuple *tile = NULL;
  int64_t length = 0;
  size_t needed = 0;
  NEED(tw_layout_parse("(3,4):(1,8)", &a));
  NEED(tw_layout_parse("4:1", &b));
  poison_();
  OK(tw_layout_max_common_vector(a, b, &length));
  EQUAL(length, 1);
  OK(tw_layout_max_common_layout(a, b, &common));
  tw_layout_destroy(common);
  /* 3 * 4 elements of a tile of 40: most belong to no thread. */
  NEED(tw_tuple_parse("(5,8)", &tile));
  OK(tw_layout_draw_tv(a, tile, NULL, 0, &needed));
  CHECK(needed > 1);
  CHECK(poisoned_());
  tw_tuple_destroy(tile);
  tw_layout_destroy(a);
  tw_layout_destroy(b);
}

/* A tensor, and hence a box, may begin before its own first element. */
static void pictures_of_boxes(void) {
  tw_layout *tensor = parsed("(-4,0) o (1024,512):(1@1,1@0)"), *smem = parsed("(128,64):(64,1)");
  tw_layout *boxes = NULL, *slots = NULL;
  tw_tuple *tile = NULL, *coord = NULL;
  int64_t box[2] = {0, 0};
  size_t length = 0;
  static char svg[1 << 20];
  NEED(tw_tuple_parse("(128,64)", &tile));
  NEED(tw_tuple_parse("(0,0)", &coord));
  NEED(tw_layout_partition_tma(tensor, smem, tile, coord, 1, 0, box, 2, &boxes, &slots));
  EQUAL(box[0], 128);
  EQUAL(box[1], 64);
  OK(tw_layout_draw_boxes(tensor, box, boxes, svg, sizeof svg, &length));
  EQUAL(length, strlen(svg) + 1);
  tw_layout_destroy(tensor);
  tw_layout_destroy(smem);
  tw_layout_destroy(boxes);
  tw_layout_destroy(slots);
  tw_tuple_destroy(tile);
  tw_tuple_destroy(coord);
}

static void pictures_of_too_much(void) {
  tw_layout *tv = parsed("(((3,2),4,(4)),4294967296):(((55,-4052555153018976267),19,(39)),39)");
  tw_tuple *tile = NULL;
  size_t length = 77;
  NEED(tw_tuple_parse("64", &tile));
  FAILS(TW_ERROR_UNSUPPORTED, "tv", tw_layout_draw_tv(tv, tile, NULL, 0, &length));
  EQUAL(length, 0);
  tw_tuple_destroy(tile);
  tw_layout_destroy(tv);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(parse);
  RUN(create);
  RUN(format);
  RUN(numbers);
  RUN(mode);
  RUN(coordinates);
  RUN(coordinate_tensors);
  RUN(local_tile);
  RUN(answers_without_failure);
  RUN(pictures_of_boxes);
  RUN(pictures_of_too_much);
  return harness_end();
}
