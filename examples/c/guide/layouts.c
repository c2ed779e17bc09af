/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: index of a coordinate, tiles of a tensor, and the effect of a swizzle. */
#include <stdio.h>
#include <tilewright/tilewright.h>

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  tw_layout *tensor = NULL, *tile = NULL, *swizzled = NULL;
  char text[256];
  int64_t index = 0, offset = 0;
  const int64_t coord[2] = {3, 5}, extents[2] = {64, 64}, which[2] = {1, 2};

  /* 512 rows of 256 elements: (i,j) has index i * 256 + j. */
  if (tw_layout_parse("(512,256):(256,1)", &tensor)) return failed();
  if (tw_layout_crd2idx(tensor, coord, 2, &index)) return failed();
  printf("(3,5) lies at %lld\n", (long long)index);

  /* The tile at (1,2) is a layout of its own, `offset` elements from the start of the tensor. */
  if (tw_layout_local_tile(tensor, 2, extents, which, &tile, &offset)) return failed();
  if (tw_layout_format(tile, text, sizeof text, NULL)) return failed();
  printf("tile (1,2): %lld + %s\n", (long long)offset, text);

  /* A tile of 2-byte elements in shared memory, as a TMA load with 128-byte swizzle places them. */
  if (tw_layout_parse("Sw<3,3,3> o 0 o (64,64):(64,1)", &swizzled)) return failed();
  if (tw_layout_crd2idx(swizzled, coord, 2, &index)) return failed();
  printf("(3,5) of a swizzled tile lies at %lld\n", (long long)index);

  tw_layout_destroy(swizzled);
  tw_layout_destroy(tile);
  tw_layout_destroy(tensor);
  return index != 3 * 64 + (5 ^ 3 << 3) || offset != 64 * 256 + 2 * 64;
}
