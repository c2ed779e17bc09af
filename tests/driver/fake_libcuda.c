/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 without a GPU, from which tests load the driver table. The environment sets:
 *   FAKE_VERSION  the version that cuDriverGetVersion() reports (13000 if unset)
 *   FAKE_MISSING  a function that the driver lacks
 *   FAKE_OLDER    a function that the driver has only in an older version
 * Built with FAKE_ANCIENT it is a driver that has no cuGetProcAddress_v2. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int named(const char* variable, const char* name) {
  const char* value = getenv(variable);
  return value && strcmp(value, name) == 0;
}

static int nothing(void) {
  return 0;
}

static int no_devices(int* count) {
  *count = 0;
  return 0;
}

static int describe(int result, const char** text) {
  (void)result;
  *text = "FAKE";
  return 0;
}

EXPORT int cuDriverGetVersion(int* version) {
  const char* value = getenv("FAKE_VERSION");
  *version = value ? atoi(value) : 13000;
  return 0;
}

#ifndef FAKE_ANCIENT
EXPORT int cuGetProcAddress_v2(const char* name, void** address, int version, uint64_t flags,
                               int* found) {
  int (*function)() = nothing;
  *address = NULL;
  *found = 1; /* symbol not found */
  if (named("FAKE_MISSING", name)) return 500;
  /* The caller must request each function by the version of its prototype. */
  if (version < 2000 || version > 12080 || flags != 1) return 1;
  *found = 2; /* newer than the driver's version */
  if (named("FAKE_OLDER", name)) return 0;
  if (strcmp(name, "cuDeviceGetCount") == 0) function = (int (*)())no_devices;
  if (strncmp(name, "cuGetError", 10) == 0) function = (int (*)())describe;
  if (strcmp(name, "cuDriverGetVersion") == 0) function = (int (*)())cuDriverGetVersion;
  memcpy(address, &function, sizeof function);
  *found = 0;
  return 0;
}
#endif
