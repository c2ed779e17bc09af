/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into two shared objects of one process, each with the archive; TWICE is its function. */
#include <tilewright/tilewright.h>

int TWICE(void) {
  tw_device* device = NULL;
  tw_layout* layout = NULL;
  if (tw_device_create(TW_DEVICE_HOST, 0, &device) != TW_OK) return 1;
  tw_device_destroy(device);
  /* A failure in one copy must not be the other's last error. */
  if (tw_last_error()[0] != '\0') return 1;
  if (tw_layout_parse("(", &layout) != TW_ERROR_PARSE) return 1;
  return tw_last_error()[0] == '\0';
}
