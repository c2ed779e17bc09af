/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A (1024, 512) bf16 matrix in 128 x 64 boxes: valid on every chip. */
static tw_tensor_map_desc matrix(void) {
  tw_tensor_map_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  OK(tw_tensor_map_desc_init(&desc, sizeof desc));
  desc.global_address = 0x100000;
  desc.global_dim[0] = 512;
  desc.global_dim[1] = 1024;
  desc.global_stride_bytes[0] = 1024;
  desc.box_dim[0] = 64;
  desc.box_dim[1] = 128;
  desc.swizzle = TW_SWIZZLE_128B;
  return desc;
}

static void desc_init(void) {
  tw_tensor_map_desc desc;
  memset(&desc, 0xa5, sizeof desc);
  NULL_FAILS("desc", tw_tensor_map_desc_init(NULL, sizeof(tw_tensor_map_desc)));
  OK(tw_tensor_map_desc_init(&desc, sizeof desc));
  EQUAL(desc.struct_size, sizeof desc);
  EQUAL(desc.dtype, TW_DTYPE_BF16);
  EQUAL(desc.rank, 2);
  EQUAL(desc.swizzle, TW_SWIZZLE_NONE);
  EQUAL(desc.interleave, TW_INTERLEAVE_NONE);
  EQUAL(desc.l2_promotion, TW_L2_PROMOTION_NONE);
  EQUAL(desc.oob_fill, TW_OOB_FILL_ZERO);
  EQUAL(desc.kind, TW_TENSOR_MAP_TILED);
  for (int i = 0; i < 5; ++i) {
    EQUAL(desc.global_dim[i], 0);
    EQUAL(desc.global_stride_bytes[i], 0);
    EQUAL(desc.box_dim[i], 0);
    EQUAL(desc.element_strides[i], 1);
  }
}

static const tw_arch kArchs[] = {TW_ARCH_SM_90, TW_ARCH_SM_100, TW_ARCH_SM_103, TW_ARCH_SM_110,
                                 TW_ARCH_SM_120};

/* Breaks one rule of a valid description. */
typedef void (*breaker)(tw_tensor_map_desc *desc);
#define BREAKER(name, statement)               \
  static void name(tw_tensor_map_desc *desc) { \
    statement;                                 \
  }
BREAKER(rank_0, desc->rank = 0)
BREAKER(rank_6, desc->rank = 6)
BREAKER(rank_negative, desc->rank = -1)
BREAKER(dtype_0, desc->dtype = 0)
BREAKER(dtype_opaque, desc->dtype = TW_DTYPE_B128)
BREAKER(dtype_unknown, desc->dtype = 1000)
BREAKER(interleave_3, desc->interleave = 3)
BREAKER(swizzle_7, desc->swizzle = 7)
BREAKER(swizzle_negative, desc->swizzle = -1)
BREAKER(promotion_4, desc->l2_promotion = 4)
BREAKER(fill_2, desc->oob_fill = 2)
BREAKER(fill_nan_integer, (desc->oob_fill = TW_OOB_FILL_NAN, desc->dtype = TW_DTYPE_U16))
BREAKER(address_odd, desc->global_address += 8)
BREAKER(dim_0, desc->global_dim[1] = 0)
BREAKER(dim_large, desc->global_dim[0] = ((uint64_t)1 << 32) + 1)
BREAKER(stride_odd, desc->global_stride_bytes[0] = 1032)
BREAKER(stride_large, desc->global_stride_bytes[0] = (uint64_t)1 << 40)
BREAKER(box_0, desc->box_dim[1] = 0)
BREAKER(box_257, desc->box_dim[1] = 257)
BREAKER(box_wide, desc->box_dim[0] = 128)
BREAKER(box_unaligned, desc->box_dim[0] = 63)
BREAKER(element_stride_0, desc->element_strides[0] = 0)
BREAKER(element_stride_9, desc->element_strides[1] = 9)
#undef BREAKER

static const struct {
  breaker breaks;
  const char *argument;
} kBroken[] = {
    {rank_0, "rank"},
    {rank_6, "rank"},
    {rank_negative, "rank"},
    {dtype_0, "dtype"},
    {dtype_opaque, "dtype"},
    {dtype_unknown, "dtype"},
    {interleave_3, "interleave"},
    {swizzle_7, "swizzle"},
    {swizzle_negative, "swizzle"},
    {promotion_4, "l2_promotion"},
    {fill_2, "oob_fill"},
    {fill_nan_integer, "oob_fill"},
    {address_odd, "global_address"},
    {dim_0, "global_dim"},
    {dim_large, "global_dim"},
    {stride_odd, "global_stride_bytes"},
    {stride_large, "global_stride_bytes"},
    {box_0, "box_dim"},
    {box_257, "box_dim"},
    {box_wide, "box_dim"},
    {box_unaligned, "box_dim"},
    {element_stride_0, "element_strides"},
    {element_stride_9, "element_strides"},
};

static void check_rules(void) {
  tw_tensor_map_desc desc = matrix();
  int32_t count = 77;
  for (size_t i = 0; i < COUNT(kArchs); ++i) {
    count = 77;
    OK(tw_tensor_map_check(&desc, kArchs[i], NULL, 0, &count));
    EQUAL(count, 0);
    OK(tw_tensor_map_check(&desc, kArchs[i], NULL, 0, NULL));
  }
  for (size_t i = 0; i < COUNT(kBroken); ++i) {
    tw_rule_violation found[4];
    tw_error_info info;
    int32_t named = 0;
    desc = matrix();
    kBroken[i].breaks(&desc);
    memset(found, 0xa5, sizeof found);
    for (size_t j = 0; j < COUNT(found); ++j) tw_rule_violation_init(&found[j], sizeof found[j]);
    count = 77;
    FAILS(TW_ERROR_RULE, kBroken[i].argument,
          tw_tensor_map_check(&desc, TW_ARCH_SM_90, found, COUNT(found), &count));
    tw_error_info_init(&info, sizeof info);
    OK(tw_last_error_info(&info));
    CHECK(info.rule != NULL && info.rule[0] != '\0');
    CHECK(count >= 1);
    for (int32_t j = 0; j < count && j < (int32_t)COUNT(found); ++j) {
      CHECK(found[j].rule != NULL && found[j].rule[0] != '\0');
      CHECK(found[j].argument != NULL && found[j].argument[0] != '\0');
      CHECK(memchr(found[j].message, '\0', sizeof found[j].message) != NULL);
      CHECK(found[j].message[0] != '\0');
      named += found[j].argument && strcmp(found[j].argument, kBroken[i].argument) == 0;
    }
    if (!CHECK(named >= 1)) printf("    %s\n", kBroken[i].argument);
  }
}

static void check_many(void) {
  struct {
    tw_rule_violation found[2];
    unsigned char guard[16];
  } out;
  tw_tensor_map_desc desc = matrix();
  int32_t all = 0, count = 77;
  desc.global_address += 8;
  desc.global_stride_bytes[0] += 8;
  desc.box_dim[1] = 300;
  desc.element_strides[1] = 99;
  FAILS(TW_ERROR_RULE, NULL, tw_tensor_map_check(&desc, TW_ARCH_SM_90, NULL, 0, &all));
  CHECK(all >= 4);
  /* More broken rules than fit the array: all are counted, and nothing is written behind it. */
  memset(&out, 0x5a, sizeof out);
  for (int j = 0; j < 2; ++j) tw_rule_violation_init(&out.found[j], sizeof out.found[j]);
  FAILS(TW_ERROR_RULE, NULL, tw_tensor_map_check(&desc, TW_ARCH_SM_90, out.found, 2, &count));
  EQUAL(count, all);
  for (size_t i = 0; i < sizeof out.guard; ++i) EQUAL(out.guard[i], 0x5a);
  CHECK(strcmp(out.found[0].message, out.found[1].message) != 0);
  /* If an element of the array is invalid, nothing is written, and the error names its index. */
  for (int32_t i = 0; i < 2; ++i) {
    tw_error_info info;
    tw_error_info_init(&info, sizeof info);
    memset(&out, 0x5a, sizeof out);
    for (int j = 0; j < 2; ++j) {
      tw_rule_violation_init(&out.found[j], sizeof out.found[j]);
      out.found[j].got = 0x5a5a5a5a5a5a5a5a;
    }
    out.found[i].struct_size = 8;
    FAILS(TW_ERROR_STRUCT, "violations",
          tw_tensor_map_check(&desc, TW_ARCH_SM_90, out.found, 2, &count));
    OK(tw_last_error_info(&info));
    EQUAL(info.index, i);
    CHECK(out.found[0].got == 0x5a5a5a5a5a5a5a5a && out.found[1].got == 0x5a5a5a5a5a5a5a5a);
  }
}

static void check_arguments(void) {
  const tw_arch bad_archs[] = {0, -1, 80, 89, INT32_MIN, INT32_MAX};
  tw_tensor_map_desc desc = matrix();
  tw_rule_violation found[2];
  int32_t count = 77;
  for (size_t j = 0; j < COUNT(found); ++j) tw_rule_violation_init(&found[j], sizeof found[j]);
  NULL_FAILS("desc", tw_tensor_map_check(NULL, TW_ARCH_SM_90, found, 2, &count));
  EQUAL(count, 0);
  for (size_t i = 0; i < COUNT(bad_archs); ++i) {
    count = 77;
    FAILS(TW_ERROR_INVALID_ARGUMENT, "arch",
          tw_tensor_map_check(&desc, bad_archs[i], NULL, 0, &count));
    EQUAL(count, 0);
  }
  NULL_FAILS("violations", tw_tensor_map_check(&desc, TW_ARCH_SM_90, NULL, 2, &count));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity",
        tw_tensor_map_check(&desc, TW_ARCH_SM_90, found, -1, &count));
  STRUCT_SIZES_FAIL(desc, "desc", tw_tensor_map_check(&desc, TW_ARCH_SM_90, NULL, 0, &count));
  TAIL_RULES(tw_tensor_map_desc, desc, "desc",
             tw_tensor_map_check(longer, TW_ARCH_SM_90, NULL, 0, NULL), (void)0);
  desc.rank = 0;
  STRUCT_SIZES_FAIL(found[0], "violations",
                    tw_tensor_map_check(&desc, TW_ARCH_SM_90, found, 2, &count));
}

/* A description with an address in device memory. */
static tw_tensor_map_desc on_device(tw_device *device, uint64_t *address) {
  tw_tensor_map_desc desc = matrix();
  *address = 0;
  OK(tw_malloc(device, 1024 * 1024, address));
  desc.global_address = *address;
  return desc;
}

static void create(void) {
  tw_device *device = open_device();
  uint64_t address = 0;
  tw_tensor_map_desc desc = on_device(device, &address), back;
  tw_tensor_map *map = (tw_tensor_map *)&map;
  unsigned char bytes[128 + 3], again[128];
  NULL_FAILS("map", tw_tensor_map_create(device, &desc, NULL));
  NULL_FAILS("device", tw_tensor_map_create(NULL, &desc, &map));
  CHECK(map == NULL);
  map = (tw_tensor_map *)&map;
  NULL_FAILS("desc", tw_tensor_map_create(device, NULL, &map));
  CHECK(map == NULL);
  STRUCT_SIZES_FAIL(desc, "desc", tw_tensor_map_create(device, &desc, &map));
  TAIL_RULES(tw_tensor_map_desc, desc, "desc", tw_tensor_map_create(device, longer, &map),
             tw_tensor_map_destroy(map));
  for (size_t i = 0; i < COUNT(kBroken); ++i) {
    tw_tensor_map_desc broken = desc;
    kBroken[i].breaks(&broken);
    map = (tw_tensor_map *)&map;
    FAILS(TW_ERROR_RULE, kBroken[i].argument, tw_tensor_map_create(device, &broken, &map));
    CHECK(map == NULL);
  }

  NEED(tw_tensor_map_create(device, &desc, &map));
  memset(&back, 0xa5, sizeof back);
  tw_tensor_map_desc_init(&back, sizeof back);
  OK(tw_tensor_map_get_desc(map, &back));
  EQUAL(back.dtype, desc.dtype);
  EQUAL(back.rank, desc.rank);
  EQUAL(back.interleave, desc.interleave);
  EQUAL(back.swizzle, desc.swizzle);
  EQUAL(back.l2_promotion, desc.l2_promotion);
  EQUAL(back.oob_fill, desc.oob_fill);
  EQUAL(back.global_address, desc.global_address);
  for (int i = 0; i < desc.rank; ++i) {
    EQUAL(back.global_dim[i], desc.global_dim[i]);
    EQUAL(back.box_dim[i], desc.box_dim[i]);
    EQUAL(back.element_strides[i], desc.element_strides[i]);
  }
  EQUAL(back.global_stride_bytes[0], desc.global_stride_bytes[0]);
  STRUCT_SIZES_FAIL(back, "desc", tw_tensor_map_get_desc(map, &back));
  TAIL_CLEARED(tw_tensor_map_desc, tw_tensor_map_get_desc(map, longer));
  NULL_FAILS("desc", tw_tensor_map_get_desc(map, NULL));
  NULL_FAILS("map", tw_tensor_map_get_desc(NULL, &back));

  /* Writes 128 bytes to any address, the same each time, and no more. */
  memset(bytes, 0, sizeof bytes);
  bytes[130] = 0x5a;
  OK(tw_tensor_map_bytes(map, bytes + 1));
  OK(tw_tensor_map_bytes(map, again));
  CHECK(memcmp(bytes + 1, again, 128) == 0);
  EQUAL(bytes[0], 0);
  EQUAL(bytes[130], 0x5a);
  memset(bytes, 0, sizeof bytes);
  CHECK(memcmp(bytes, again, 128) != 0);
  NULL_FAILS("bytes", tw_tensor_map_bytes(map, NULL));
  NULL_FAILS("map", tw_tensor_map_bytes(NULL, again));
  tw_tensor_map_destroy(map);
  tw_tensor_map_destroy(NULL);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

static void words(void) {
  tw_device *device = open_device();
  uint64_t address = 0;
  tw_tensor_map_desc desc = on_device(device, &address);
  tw_tensor_map *map = NULL;
  tw_layout *layout = (tw_layout *)&layout;
  char text[4096] = "", part[8];
  size_t length = 0, needed = 0;
  NEED(tw_tensor_map_create(device, &desc, &map));
  OK(tw_tensor_map_explain(map, NULL, 0, &needed));
  CHECK(needed > 20 && needed < sizeof text);
  OK(tw_tensor_map_explain(map, text, sizeof text, &length));
  EQUAL(length, needed);
  EQUAL(strlen(text) + 1, needed);
  CHECK(strstr(text, "512") != NULL && strstr(text, "1024") != NULL); /* extents */
  CHECK(strstr(text, "16384") != NULL);                               /* bytes of a box */
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity",
        tw_tensor_map_explain(map, part, sizeof part, &length));
  EQUAL(length, needed);
  EQUAL(strlen(part), sizeof part - 1);
  NULL_FAILS("map", tw_tensor_map_explain(NULL, text, sizeof text, NULL));
  NULL_FAILS("buffer", tw_tensor_map_explain(map, NULL, 8, NULL));

  NULL_FAILS("layout", tw_tensor_map_coordinates(map, NULL));
  NULL_FAILS("map", tw_tensor_map_coordinates(NULL, &layout));
  CHECK(layout == NULL);
  NEED(tw_tensor_map_coordinates(map, &layout));
  OK(tw_layout_format(layout, text, sizeof text, NULL));
  TEXT(text, "(0,0) o (1024,512):(1@1,1@0)");
  tw_layout_destroy(layout);
  tw_tensor_map_destroy(map);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

static void without_a_device(void) {
  tw_tensor_map_desc desc = matrix(), other;
  unsigned char bytes[129], again[128];
  memset(bytes, 0x5a, sizeof bytes);
  OK(tw_tensor_map_encode(&desc, TW_ARCH_SM_90, bytes));
  EQUAL(bytes[128], 0x5a);
  tw_tensor_map_desc_init(&other, sizeof other);
  OK(tw_tensor_map_decode(bytes, &other));
  EQUAL(other.global_dim[1], 1024);
  EQUAL(other.box_dim[0], 64);
  EQUAL(other.swizzle, TW_SWIZZLE_128B);
  OK(tw_tensor_map_encode(&other, TW_ARCH_SM_90, again));
  CHECK(memcmp(bytes, again, 128) == 0);
  bytes[127] = 1;
  FAILS(TW_ERROR_UNSUPPORTED, "bytes", tw_tensor_map_decode(bytes, &other));
  EQUAL(other.global_dim[1], 1024);

  desc.box_dim[0] = 128; /* wider than the swizzle */
  FAILS(TW_ERROR_RULE, "box_dim", tw_tensor_map_encode(&desc, TW_ARCH_SM_90, again));
  OK(tw_tensor_map_propose(&desc, TW_ARCH_SM_90, &other));
  EQUAL(other.box_dim[0], 64);
  EQUAL(other.box_dim[1], 128);
  OK(tw_tensor_map_check(&other, TW_ARCH_SM_90, NULL, 0, NULL));
  OK(tw_tensor_map_propose(&desc, TW_ARCH_SM_90, &desc)); /* in place */
  EQUAL(desc.box_dim[0], 64);
  desc.swizzle = TW_SWIZZLE_NONE;
  desc.interleave = TW_INTERLEAVE_16B;
  desc.box_dim[0] = 64;
  desc.box_dim[1] = 128;
  desc.rank = 0; /* the proposal may change the rank; only two extents are set */
  OK(tw_tensor_map_propose(&desc, TW_ARCH_SM_90, &other));
  CHECK(other.interleave == TW_INTERLEAVE_NONE);
}

static void rebinding(void) {
  tw_device *device = open_device();
  uint64_t address = 0;
  tw_tensor_map_desc desc = on_device(device, &address), back;
  tw_tensor_map *map = NULL, *anew = NULL;
  unsigned char patched[128], bytes[128];
  NEED(tw_tensor_map_create(device, &desc, &map));
  OK(tw_tensor_map_rebind(map, address + 4096));
  OK(tw_tensor_map_resize(map, 1, 77));
  desc.global_address = address + 4096;
  desc.global_dim[1] = 77;
  NEED(tw_tensor_map_create(device, &desc, &anew));
  OK(tw_tensor_map_bytes(map, patched));
  OK(tw_tensor_map_bytes(anew, bytes));
  CHECK(memcmp(patched, bytes, 128) == 0);
  FAILS(TW_ERROR_RULE, "global_address", tw_tensor_map_rebind(map, address + 8));
  FAILS(TW_ERROR_RULE, "global_address", tw_tensor_map_rebind(map, (uint64_t)1 << 57));
  FAILS(TW_ERROR_RULE, "global_dim", tw_tensor_map_resize(map, 0, 0));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dimension", tw_tensor_map_resize(map, 2, 8));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dimension", tw_tensor_map_resize(map, -1, 8));
  OK(tw_tensor_map_bytes(map, bytes));
  CHECK(memcmp(patched, bytes, 128) == 0);
  tw_tensor_map_desc_init(&back, sizeof back);
  OK(tw_tensor_map_get_desc(map, &back));
  EQUAL(back.global_dim[1], 77);
  tw_tensor_map_destroy(map);
  tw_tensor_map_destroy(anew);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

static void drawing(void) {
  tw_device *device = open_device();
  uint64_t address = 0;
  tw_tensor_map_desc desc = on_device(device, &address);
  tw_tensor_map *map = NULL;
  char *text = NULL, part[8];
  size_t length = 0;
  desc.box_dim[1] = 8;
  NEED(tw_tensor_map_create(device, &desc, &map));
  OK(tw_tensor_map_draw(map, NULL, 0, &length));
  text = malloc(length);
  OK(tw_tensor_map_draw(map, text, length, NULL));
  CHECK(strncmp(text, "<svg ", 5) == 0);
  CHECK(strstr(text, "</svg>") != NULL);
  CHECK(strstr(text, ">7.7<") != NULL && strstr(text, ">8.0<") == NULL);
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity", tw_tensor_map_draw(map, part, sizeof part, &length));
  free(text);
  tw_tensor_map_destroy(map);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

static void after_the_device(void) {
  tw_device *device = open_device();
  uint64_t address = 0;
  tw_tensor_map_desc desc = on_device(device, &address);
  tw_tensor_map *map = NULL;
  tw_layout *layout = (tw_layout *)&layout;
  unsigned char bytes[128];
  size_t length = 77;
  NEED(tw_tensor_map_create(device, &desc, &map));
  tw_device_destroy(device);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_tensor_map_bytes(map, bytes));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_tensor_map_get_desc(map, &desc));
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_tensor_map_coordinates(map, &layout));
  CHECK(layout == NULL);
  FAILS(TW_ERROR_DEVICE_CLOSED, NULL, tw_tensor_map_explain(map, NULL, 0, &length));
  tw_tensor_map_destroy(map);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(desc_init);
  RUN(check_rules);
  RUN(check_many);
  RUN(check_arguments);
  RUN(create);
  RUN(words);
  RUN(without_a_device);
  RUN(rebinding);
  RUN(drawing);
  RUN(after_the_device);
  return harness_end();
}
