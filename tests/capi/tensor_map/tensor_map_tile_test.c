/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/common/harness.h"

/* A (1024, 512) bf16 matrix in tiles of 128 x 128. */
static tw_tile_desc matrix(tw_device *device, uint64_t *address) {
  tw_tile_desc desc;
  OK(tw_malloc(device, 1024 * 1024, address));
  OK(tw_tile_desc_init(&desc, sizeof desc));
  EQUAL(desc.multicast, 1);
  desc.rank = 2;
  desc.global_address = *address;
  desc.shape[0] = 1024;
  desc.shape[1] = desc.stride[0] = 512;
  desc.stride[1] = 1;
  desc.tile[0] = desc.tile[1] = 128;
  desc.swizzle = TW_SWIZZLE_128B;
  return desc;
}

static void tiles(void) {
  tw_device *device = open_device();
  uint64_t address = 0, offset = 77;
  int64_t start[2] = {256, 128};
  int32_t coord[5], boxes = 0;
  tw_tensor_map *map = NULL;
  tw_layout *layout = NULL;
  char text[8192];
  tw_tile_desc desc = matrix(device, &address);
  NEED(tw_tensor_map_create_tile(device, &desc, NULL, &map));
  OK(tw_tensor_map_boxes(map, &boxes));
  EQUAL(boxes, 1);
  OK(tw_tensor_map_coordinates(map, &layout));
  OK(tw_layout_format(layout, text, sizeof text, NULL));
  TEXT(text, "(0,0,0) o (1024,(64,8)):(1@1,(1@0,1@2))");
  tw_layout_destroy(layout);
  OK(tw_tensor_map_box(map, start, 0, coord, &offset));
  EQUAL(coord[0], 0);
  EQUAL(coord[1], 256);
  EQUAL(coord[2], 2);
  EQUAL(offset, 0);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "index", tw_tensor_map_box(map, start, 1, coord, &offset));
  start[1] = 8;
  FAILS(TW_ERROR_MISALIGNED, "start", tw_tensor_map_box(map, start, 0, coord, &offset));
  FAILS(TW_ERROR_UNSUPPORTED, "dimension", tw_tensor_map_resize(map, 0, 64));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dimension", tw_tensor_map_resize(map, 5, 64));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dimension", tw_tensor_map_resize(map, -1, 64));
  OK(tw_tensor_map_resize(map, 1, 900));
  OK(tw_tensor_map_coordinates(map, &layout));
  OK(tw_layout_format(layout, text, sizeof text, NULL));
  TEXT(text, "(0,0,0) o (900,(64,8)):(1@1,(1@0,1@2))");
  tw_layout_destroy(layout);
  tw_tensor_map_destroy(map);

  OK(tw_layout_parse("(128,(64,2)):(64,(1,8192))", &layout));
  NEED(tw_tensor_map_create_tile(device, &desc, layout, &map));
  OK(tw_tensor_map_boxes(map, &boxes));
  EQUAL(boxes, 1);
  tw_layout_destroy(layout);
  tw_tensor_map_destroy(map);
  desc.tile[1] = 100;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "tile", tw_tensor_map_create_tile(device, &desc, NULL, &map));
  CHECK(map == NULL);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

static void beside_the_tensor(void) {
  tw_device *device = open_device();
  uint64_t address = 0, offset = 77;
  int64_t start[2] = {256, -64};
  int32_t coord[5];
  tw_tensor_map *map = NULL;
  tw_layout *layout = NULL;
  tw_tile_desc desc = matrix(device, &address);
  /* A piece as wide as the tensor also splits the mode: coordinate 0 must be a multiple of 16
   * bytes. */
  desc.shape[1] = 64;
  NEED(tw_tensor_map_create_tile(device, &desc, NULL, &map));
  FAILS(TW_ERROR_UNSUPPORTED, "dimension", tw_tensor_map_resize(map, 0, 128));
  OK(tw_tensor_map_box(map, start, 0, coord, &offset));
  EQUAL(coord[2], -1);
  tw_tensor_map_destroy(map);
  desc.swizzle = TW_SWIZZLE_NONE;
  desc.free_start = 3;
  NEED(tw_tensor_map_create_tile(device, &desc, NULL, &map));
  start[1] = 4;
  FAILS(TW_ERROR_MISALIGNED, "start", tw_tensor_map_box(map, start, 0, coord, &offset));
  /* Extents that are valid one by one may overflow together. */
  OK(tw_tensor_map_resize(map, 0, (uint64_t)1 << 32));
  OK(tw_tensor_map_resize(map, 1, (uint64_t)1 << 32));
  FAILS(TW_ERROR_OVERFLOW, "map", tw_tensor_map_coordinates(map, &layout));
  CHECK(layout == NULL);
  tw_tensor_map_destroy(map);
  OK(tw_free(device, address));
  tw_device_destroy(device);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(tiles);
  RUN(beside_the_tensor);
  return harness_end();
}
