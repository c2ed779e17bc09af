/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the library, for checks of its dependencies. */
#include <stdio.h>
#include <tilewright/tilewright.h>

int main(void) {
  tw_device* device = NULL;
  if (tw_device_create(TW_DEVICE_HOST, 0, &device) != TW_OK) {
    printf("%s\n", tw_last_error());
    return 1;
  }
  tw_device_destroy(device);
  return 0;
}
