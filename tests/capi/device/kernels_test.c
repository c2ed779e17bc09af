/* SPDX-License-Identifier: Apache-2.0 */
/* The precompiled kernels: each is listed with its resources and image; on a GPU the driver must
 * report the same resources. */
#include "tests/capi/common/harness.h"

static unsigned char *image_of(const tw_embedded_kernel *entry, size_t *size) {
  unsigned char *bytes;
  OK(tw_embedded_kernel_image(entry->name, entry->target, NULL, 0, size));
  EQUAL(*size, entry->image_bytes);
  bytes = malloc(*size + 1);
  if (!bytes) exit(1);
  bytes[*size] = 0;
  FAILS(TW_ERROR_BUFFER_TOO_SMALL, "capacity",
        tw_embedded_kernel_image(entry->name, entry->target, bytes, *size - 1, NULL));
  OK(tw_embedded_kernel_image(entry->name, entry->target, bytes, *size, NULL));
  return bytes;
}

static int same_image(const tw_embedded_kernel *a, const tw_embedded_kernel *b) {
  return a->op == b->op && a->image_bytes == b->image_bytes && a->packed_bytes == b->packed_bytes &&
         strcmp(a->target, b->target) == 0;
}

/* Invariants of every kernel for every target. */
static void look_at(const tw_embedded_kernel *entry, const unsigned char *bytes) {
  const int ptx = strncmp(entry->target, "compute_", 8) == 0;
  tw_kernel_info info;
  memset(&info, 0, sizeof info);
  tw_kernel_info_init(&info, sizeof info);
  CHECK(entry->op >= TW_OP_COPY && entry->threads >= 32 && entry->threads <= 1024);
  CHECK(entry->packed_bytes > 0 && entry->packed_bytes <= entry->image_bytes);
  /* The build requires nvcc 12.9. Machine code runs on every driver of its major version. */
  CHECK(entry->driver_version >= (ptx ? 12090 : 12000));
  CHECK(ptx || entry->driver_version % 1000 == 0);
  CHECK(entry->feature != 0 && (entry->feature & (entry->feature - 1)) == 0);
  if (ptx) {
    char wanted[256];
    snprintf(wanted, sizeof wanted, ".entry %s(", entry->name);
    if (!CHECK(strstr((const char *)bytes, wanted) != NULL)) printf("    %s\n", entry->name);
    FAILS(TW_ERROR_UNSUPPORTED, "target",
          tw_embedded_kernel_info(entry->name, entry->target, &info));
    return;
  }
  CHECK(memcmp(bytes, "\177ELF", 4) == 0);
  if (!OK(tw_embedded_kernel_info(entry->name, entry->target, &info))) return;
  if (!CHECK(info.registers >= 8 && info.registers <= 255 && info.local_bytes == 0 &&
             info.param_count == 1 && info.param_bytes > 0 && info.param_bytes <= 4096 &&
             info.max_threads >= (int32_t)entry->threads && info.binary_version >= 90))
    printf("    %s for %s\n", entry->name, entry->target);
}

static void every_kernel(void) {
  int32_t count = -1;
  tw_embedded_kernel entry, last;
  unsigned char *bytes = NULL;
  size_t size = 0;
  memset(&last, 0, sizeof last);
  tw_embedded_kernel_init(&entry, sizeof entry);
  NEED(tw_embedded_kernel_get(0, NULL, &count));
  CHECK(count >= 0);
  for (int32_t i = 0; i < count; ++i) {
    NEED(tw_embedded_kernel_get(i, &entry, NULL));
    if (!bytes || !same_image(&entry, &last)) {
      free(bytes);
      bytes = image_of(&entry, &size);
    }
    look_at(&entry, bytes);
    last = entry;
  }
  free(bytes);
  printf("%d kernels and targets\n", count);
  FAILS(TW_ERROR_NOT_FOUND, "index", tw_embedded_kernel_get(count, &entry, NULL));
  FAILS(TW_ERROR_NOT_FOUND, "index", tw_embedded_kernel_get(-1, &entry, NULL));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "entry", tw_embedded_kernel_get(0, NULL, NULL));
}

static void unknown_names(void) {
  int32_t count = 0;
  tw_embedded_kernel object;
  tw_kernel_info info;
  tw_kernel_info_init(&info, sizeof info);
  tw_embedded_kernel_init(&object, sizeof object);
  FAILS(TW_ERROR_NOT_FOUND, "name", tw_embedded_kernel_info("no_such", "sm_90a", &info));
  FAILS(TW_ERROR_NOT_FOUND, "name", tw_embedded_kernel_image("no_such", "sm_90a", NULL, 0, NULL));
  NEED(tw_embedded_kernel_get(0, NULL, &count));
  if (count == 0) return; /* a build without device code */
  NEED(tw_embedded_kernel_get(0, &object, NULL));
  FAILS(TW_ERROR_NOT_FOUND, "target", tw_embedded_kernel_info(object.name, "sm_80", &info));
  STRUCT_SIZES_FAIL(object, "entry", tw_embedded_kernel_get(0, &object, NULL));
  TAIL_CLEARED(tw_embedded_kernel, tw_embedded_kernel_get(0, longer, NULL));
}

/* For kernels with machine code for this device, the driver must report the listed numbers. */
static void the_driver_agrees(void) {
  tw_device *device = open_device();
  tw_module *module = NULL;
  tw_embedded_kernel entry, last;
  tw_device_info about;
  int32_t count = 0;
  char target[8];
  memset(&last, 0, sizeof last);
  tw_device_info_init(&about, sizeof about);
  tw_embedded_kernel_init(&entry, sizeof entry);
  NEED(tw_device_get_info(device, &about));
  snprintf(target, sizeof target, "sm_%d", about.compute_major * 10 + about.compute_minor);
  NEED(tw_embedded_kernel_get(0, NULL, &count));
  for (int32_t i = 0; i < count; ++i) {
    tw_kernel *kernel = NULL;
    tw_kernel_info read, asked;
    NEED(tw_embedded_kernel_get(i, &entry, NULL));
    if (strncmp(entry.target, target, strlen(target)) != 0) continue;
    if (!module || !same_image(&entry, &last)) {
      size_t size = 0;
      unsigned char *bytes = image_of(&entry, &size);
      tw_module_destroy(module);
      NEED(tw_module_load(device, bytes, size, &module));
      free(bytes);
    }
    last = entry;
    memset(&read, 0, sizeof read);
    memset(&asked, 0, sizeof asked);
    tw_kernel_info_init(&read, sizeof read);
    tw_kernel_info_init(&asked, sizeof asked);
    NEED(tw_kernel_get(module, entry.name, &kernel));
    NEED(tw_kernel_get_info(kernel, &asked));
    NEED(tw_embedded_kernel_info(entry.name, entry.target, &read));
    EQUAL(read.registers, asked.registers);
    EQUAL(read.local_bytes, asked.local_bytes);
    EQUAL(read.static_smem_bytes, asked.static_smem_bytes);
    EQUAL(read.param_count, asked.param_count);
    EQUAL(read.param_bytes, asked.param_bytes);
    tw_kernel_destroy(kernel);
  }
  tw_module_destroy(module);
  tw_device_destroy(device);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(every_kernel);
  RUN(unknown_names);
  if (harness.kind == TW_DEVICE_CUDA) RUN(the_driver_agrees);
  return harness_end();
}
