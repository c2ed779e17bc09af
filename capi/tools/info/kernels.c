/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and dumps the precompiled kernels. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

static const char* family_name(tw_op op) {
  switch (op) {
    case TW_OP_COPY:
      return "copy";
    case TW_OP_PREFETCH:
      return "prefetch";
    case TW_OP_GATHER:
      return "gather";
    case TW_OP_SCATTER:
      return "scatter";
    case TW_OP_GEMM:
      return "gemm";
    case TW_OP_ELEMENTWISE:
      return "elementwise";
    case TW_OP_RAGGED:
      return "ragged";
    case TW_OP_COPIES:
      return "copies";
    case TW_OP_ROUTE:
      return "route";
    case TW_OP_GROUPED:
      return "grouped";
    case TW_OP_QUANTIZE:
      return "quantize";
    default:
      return "?";
  }
}

/* Totals of a family for a target. Several kernels share one image, whose bytes count once. */
typedef struct {
  tw_op op;
  const char* target;
  int kernels, images, driver;
  unsigned long long packed, unpacked;
} sum;

enum { MAX_SUMS = 64, MAX_IMAGES = 1024 };

static sum* find_sum(sum* sums, int* count, const tw_embedded_kernel* entry) {
  for (int i = 0; i < *count; ++i)
    if (sums[i].op == entry->op && strcmp(sums[i].target, entry->target) == 0) return &sums[i];
  if (*count == MAX_SUMS) return NULL;
  memset(&sums[*count], 0, sizeof *sums);
  sums[*count].op = entry->op;
  sums[*count].target = entry->target;
  return &sums[(*count)++];
}

/* Whether this image has not been counted yet. Images with equal family, target and sizes are taken
 * to be the same, because the library does not identify images. */
static int is_first_of_image(tw_embedded_kernel* seen, int* count,
                             const tw_embedded_kernel* entry) {
  for (int i = 0; i < *count; ++i)
    if (seen[i].op == entry->op && seen[i].packed_bytes == entry->packed_bytes &&
        seen[i].image_bytes == entry->image_bytes && strcmp(seen[i].target, entry->target) == 0)
      return 0;
  if (*count < MAX_IMAGES) seen[(*count)++] = *entry;
  return 1;
}

static int sum_up(sum* sums, int* sum_count) {
  static tw_embedded_kernel seen[MAX_IMAGES];
  int seen_count = 0;
  int32_t count = 0;
  if (tw_embedded_kernel_get(0, NULL, &count) != TW_OK) return complain("the list of kernels");
  for (int32_t i = 0; i < count; ++i) {
    tw_embedded_kernel entry;
    sum* one;
    tw_embedded_kernel_init(&entry, sizeof entry);
    if (tw_embedded_kernel_get(i, &entry, NULL) != TW_OK) return complain("the list of kernels");
    one = find_sum(sums, sum_count, &entry);
    if (!one) continue;
    ++one->kernels;
    if (entry.driver_version > one->driver) one->driver = entry.driver_version;
    if (!is_first_of_image(seen, &seen_count, &entry)) continue;
    ++one->images;
    one->packed += entry.packed_bytes;
    one->unpacked += entry.image_bytes;
  }
  return 0;
}

/* Oldest driver that can open a GPU. Kernels may need a newer one. */
enum { LEAST_DRIVER = 12040 };

static int driver_of(const sum* one) {
  return one->driver > LEAST_DRIVER ? one->driver : LEAST_DRIVER;
}

static void print_families_json(const sum* sums, int count) {
  printf("[");
  for (int i = 0; i < count; ++i)
    printf(
        "%s{\"family\": \"%s\", \"target\": \"%s\", \"kernels\": %d, \"images\": %d, "
        "\"packed_bytes\": %llu, \"image_bytes\": %llu, \"driver\": %d}",
        i > 0 ? ", " : "", family_name(sums[i].op), sums[i].target, sums[i].kernels, sums[i].images,
        sums[i].packed, sums[i].unpacked, driver_of(&sums[i]));
  printf("]");
}

static int say_none(void) {
  printf("no kernels are embedded: the host device alone\n");
  return 0;
}

int print_families(int json) {
  sum sums[MAX_SUMS];
  int count = 0;
  unsigned long long packed = 0;
  if (sum_up(sums, &count)) return 1;
  if (json) {
    print_families_json(sums, count);
    return 0;
  }
  if (count == 0) return say_none();
  printf("%-12s %-12s %8s %8s %16s %16s  %s\n", "family", "target", "kernels", "images",
         "bytes, packed", "bytes, unpacked", "driver, at least for");
  for (int i = 0; i < count; ++i) {
    const int driver = driver_of(&sums[i]);
    packed += sums[i].packed;
    printf("%-12s %-12s %8d %8d %16llu %16llu  CUDA %d.%d\n", family_name(sums[i].op),
           sums[i].target, sums[i].kernels, sums[i].images, sums[i].packed, sums[i].unpacked,
           driver / 1000, driver % 1000 / 10);
  }
  printf("%-12s %-12s %8s %8s %16llu\n", "all", "", "", "", packed);
  return 0;
}

int print_kernels(int json) {
  int32_t count = 0;
  if (tw_embedded_kernel_get(0, NULL, &count) != TW_OK) return complain("the list of kernels");
  if (count == 0 && !json) return say_none();
  printf(json ? "[\n" : "%-44s %-10s %7s %9s %6s %6s %6s %6s %s\n", "kernel", "target", "threads",
         "registers", "local", "static", "params", "stages", "tile");
  for (int32_t i = 0; i < count; ++i) {
    tw_embedded_kernel e;
    tw_kernel_info info;
    tw_embedded_kernel_init(&e, sizeof e);
    memset(&info, 0, sizeof info);
    tw_kernel_info_init(&info, sizeof info);
    if (tw_embedded_kernel_get(i, &e, NULL) != TW_OK) return complain("the list of kernels");
    /* PTX has no resources before the driver compiles it: print zeros. */
    const tw_status status = tw_embedded_kernel_info(e.name, e.target, &info);
    if (status != TW_OK && status != TW_ERROR_UNSUPPORTED) return complain(e.name);
    if (json)
      printf(
          "%s{\"name\": \"%s\", \"family\": \"%s\", \"target\": \"%s\", \"threads\": %u, "
          "\"registers\": %d, \"local_bytes\": %d, \"static_smem_bytes\": %d, "
          "\"param_bytes\": %d, \"stages\": %u, \"tile\": [%u, %u, %u], \"cluster\": [%u, %u]}",
          i > 0 ? ",\n" : "", e.name, family_name(e.op), e.target, e.threads, info.registers,
          info.local_bytes, info.static_smem_bytes, info.param_bytes, e.stages, e.tile[0],
          e.tile[1], e.tile[2], e.cluster[0], e.cluster[1]);
    else
      printf("%-44s %-10s %7u %9d %6d %6d %6d %6u %ux%ux%u\n", e.name, e.target, e.threads,
             info.registers, info.local_bytes, info.static_smem_bytes, info.param_bytes, e.stages,
             e.tile[0], e.tile[1], e.tile[2]);
  }
  if (json) printf("\n]\n");
  return 0;
}

static int write_image(const tw_embedded_kernel* entry) {
  const int ptx = strncmp(entry->target, "compute_", 8) == 0;
  char path[512];
  size_t size = 0;
  void* bytes = NULL;
  FILE* file = NULL;
  int failed = 1;
  snprintf(path, sizeof path, "%s.%s.%s", entry->name, entry->target, ptx ? "ptx" : "cubin");
  if (tw_embedded_kernel_image(entry->name, entry->target, NULL, 0, &size) != TW_OK ||
      !(bytes = malloc(size)) ||
      tw_embedded_kernel_image(entry->name, entry->target, bytes, size, NULL) != TW_OK) {
    complain(path);
  } else if (!(file = fopen(path, "wb")) || fwrite(bytes, 1, size, file) != size) {
    perror(path);
  } else {
    failed = 0;
  }
  if (file && fclose(file) != 0) failed = 1;
  free(bytes);
  if (failed) return 1;
  printf("%s: %zu bytes; %s%s %s\n", path, size, ptx ? "ptxas -arch=sm_90" : "nvdisasm -fun ",
         ptx ? "" : entry->name, path);
  return 0;
}

int dump_kernel(const char* name, const char* target) {
  int32_t count = 0;
  int found = 0;
  if (tw_embedded_kernel_get(0, NULL, &count) != TW_OK) return complain("the list of kernels");
  for (int32_t i = 0; i < count; ++i) {
    tw_embedded_kernel entry;
    tw_embedded_kernel_init(&entry, sizeof entry);
    if (tw_embedded_kernel_get(i, &entry, NULL) != TW_OK) return complain("the list of kernels");
    if (strcmp(entry.name, name) != 0 || (target && strcmp(entry.target, target) != 0)) continue;
    if (write_image(&entry)) return 1;
    ++found;
  }
  if (found > 0) return 0;
  fprintf(stderr, "%s%s%s: no such kernel; --kernels lists them\n", name, target ? " for " : "",
          target ? target : "");
  return 1;
}
