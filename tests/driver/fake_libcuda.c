/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 without a GPU, to load the driver table from. From the environment:
 *   FAKE_VERSION  what cuDriverGetVersion() says (13000)
 *   FAKE_MISSING  a function that it lacks
 *   FAKE_OLDER    a function that it has in an older form alone
 * FAKE_ANCIENT is defined where it is built as a driver from before cuGetProcAddress_v2. */
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
  /* Only a prototype that is asked for by its own version is the one that gets called. */
  if (version < 2000 || version > 12080 || flags != 1) return 1;
  *found = 2; /* of a newer version than the driver has */
  if (named("FAKE_OLDER", name)) return 0;
  if (strcmp(name, "cuDeviceGetCount") == 0) function = (int (*)())no_devices;
  if (strncmp(name, "cuGetError", 10) == 0) function = (int (*)())describe;
  if (strcmp(name, "cuDriverGetVersion") == 0) function = (int (*)())cuDriverGetVersion;
  memcpy(address, &function, sizeof function);
  *found = 0;
  return 0;
}
#endif
