/* SPDX-License-Identifier: Apache-2.0 */
/* A program of layouts and, with TENSOR_MAPS, tensor maps. It references every function of these
   (EVERY of every.inc) and none of devices. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

typedef void (*function)(void);
function functions_of_small[] = {
#define EVERY(name) (function)(name),
#include "every.inc"
};

static int failed(const char* what) {
  printf("%s: %s\n", what, tw_last_error());
  return 1;
}

static int layouts(void) {
  tw_layout* layout = NULL;
  int64_t size = 0;
  if (tw_layout_parse("((2,3),4):((1,8),2)", &layout) != TW_OK) return failed("parse");
  if (tw_layout_size(layout, &size) != TW_OK || size != 24) return failed("size");
  tw_layout_destroy(layout);
  return 0;
}

#ifdef TENSOR_MAPS
/* A failure below the C API, whose message is in another member of the archive. */
static int tensor_maps(void) {
  tw_tensor_map_desc desc;
  tw_error_info info;
  tw_tensor_map_desc_init(&desc, sizeof desc);
  desc.global_address = 1 << 20;
  desc.global_dim[0] = 1024;
  desc.global_dim[1] = 512;
  desc.global_stride_bytes[0] = 2048;
  desc.box_dim[0] = 64;
  desc.box_dim[1] = 128;
  if (tw_tensor_map_check(&desc, 90, NULL, 0, NULL) != TW_OK) return failed("check");
  desc.box_dim[1] = 257;
  if (tw_tensor_map_check(&desc, 90, NULL, 0, NULL) != TW_ERROR_RULE) return failed("broken rule");
  tw_error_info_init(&info, sizeof info);
  if (tw_last_error_info(&info) != TW_OK || info.got != 257) return failed("error");
  return 0;
}
#endif

int main(void) {
  if (layouts()) return 1;
#ifdef TENSOR_MAPS
  if (tensor_maps()) return 1;
#endif
  printf("%d functions\n", (int)(sizeof functions_of_small / sizeof functions_of_small[0]));
  return 0;
}
