/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor map that breaks a rule: the error messages, and a valid proposal. Needs no GPU. */
#include <stdio.h>
#include <tilewright/tilewright.h>

static int failed(void) {
  fprintf(stderr, "%s\n", tw_last_error());
  return 1;
}

int main(void) {
  tw_tensor_map_desc desc, proposed;
  tw_rule_violation broken[4];
  int32_t count = 0;
  unsigned char bytes[128];

  if (tw_tensor_map_desc_init(&desc, sizeof desc) ||
      tw_tensor_map_desc_init(&proposed, sizeof proposed))
    return failed();
  desc.dtype = TW_DTYPE_BF16;
  desc.rank = 2;
  desc.swizzle = TW_SWIZZLE_128B;
  desc.global_address = 0x10000;
  desc.global_dim[0] = 1000, desc.global_dim[1] = 4096; /* innermost first, as in CUDA */
  desc.global_stride_bytes[0] = 2000;
  desc.box_dim[0] = 128, desc.box_dim[1] = 64; /* rows of 256 bytes exceed a 128-byte swizzle */

  for (int i = 0; i < 4; ++i) tw_rule_violation_init(&broken[i], sizeof broken[i]);
  if (tw_tensor_map_check(&desc, TW_ARCH_SM_90, broken, 4, &count) != TW_ERROR_RULE) return 1;
  for (int i = 0; i < count && i < 4; ++i) printf("%s: %s\n", broken[i].rule, broken[i].message);

  if (tw_tensor_map_propose(&desc, TW_ARCH_SM_90, &proposed)) return failed();
  printf("proposed: a box of %u x %u\n", proposed.box_dim[0], proposed.box_dim[1]);
  if (tw_tensor_map_encode(&proposed, TW_ARCH_SM_90, bytes)) return failed();
  return count != 1;
}
