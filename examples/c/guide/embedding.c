/* SPDX-License-Identifier: Apache-2.0 */
/* Error handling in a host program: messages, the numbers of an error, and the log. */
#include <stdio.h>
#include <tilewright/tilewright.h>

static void log_line(void* user, tw_log_level level, const char* message) {
  (void)user;
  fprintf(stderr, "tilewright %d: %s\n", level, message);
}

int main(void) {
  tw_device* device = NULL;
  tw_plan* plan = NULL;
  tw_copy_desc desc;
  tw_error_info info;
  tw_status status;

  tw_log_set(log_line, NULL, TW_LOG_WARNING); /* without a callback the library never prints */

  /* Prefer a GPU. The library never falls back to another device by itself. */
  status = tw_device_create(TW_DEVICE_CUDA, 0, &device);
  if (status != TW_OK) {
    printf("%s (%s): %s\n", tw_status_name(status), tw_status_text(status), tw_last_error());
    if (tw_device_create(TW_DEVICE_HOST, 0, &device) != TW_OK) return 1;
  }

  /* The error names the argument, its value and the limit. A failed call has no effect. */
  tw_copy_desc_init(&desc, sizeof desc);
  desc.dtype = TW_DTYPE_F32;
  desc.rank = 9;
  status = tw_copy_plan(device, &desc, &plan);
  tw_error_info_init(&info, sizeof info);
  tw_last_error_info(&info);
  printf("%s\n  argument %s, got %lld, limit %lld\n", tw_last_error(), info.argument,
         (long long)info.got, (long long)info.limit);

  /* Handles may outlive their device: calls report it, and the handles can still be destroyed. */
  desc.rank = 1;
  desc.shape[0] = desc.src_stride[0] = desc.dst_stride[0] = 1;
  if (tw_copy_plan(device, &desc, &plan) != TW_OK) return 1;
  tw_device_destroy(device);
  char text[64];
  const tw_status closed = tw_plan_explain(plan, text, sizeof text, NULL);
  printf("%s\n", tw_status_name(closed));
  tw_plan_destroy(plan);
  return status != TW_ERROR_INVALID_ARGUMENT || closed != TW_ERROR_DEVICE_CLOSED;
}
