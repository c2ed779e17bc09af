/* SPDX-License-Identifier: Apache-2.0 */
/* tilewright-info: prints the library's kernels and the devices of this machine. */
#include <string.h>

#include "info.h"

static const char usage[] =
    "tilewright-info                        version, devices, embedded families and targets\n"
    "tilewright-info --kernels              every precompiled kernel with its resources\n"
    "tilewright-info --dump NAME [TARGET]   writes its cubin or PTX into files, to be "
    "disassembled\n"
    "tilewright-info --json                 with the first two: as JSON\n"
    "tilewright-info --help                 this text\n"
    "tilewright-info --version              the library's version\n";

int complain(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tw_last_error());
  return 1;
}

static const struct {
  uint32_t bit;
  const char* name;
} features[] = {{TW_FEATURE_HOST, "host"},       {TW_FEATURE_TMA, "tma"},
                {TW_FEATURE_MMA, "mma"},         {TW_FEATURE_WGMMA, "wgmma"},
                {TW_FEATURE_GATHER4, "gather4"}, {TW_FEATURE_SCATTER4, "scatter4"},
                {TW_FEATURE_TCGEN05, "tcgen05"}};

static void print_features(uint32_t mask, const char* before, const char* between) {
  const char* separator = "";
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i)
    if (mask & features[i].bit) {
      printf("%s%s%s%s", separator, before, features[i].name, before);
      separator = between;
    }
}

/* Prints a text as a JSON string. */
static void print_quoted(const char* text) {
  putchar('"');
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text < 32)
      printf("\\u%04x", (unsigned)*text);
    else
      putchar(*text);
  }
  putchar('"');
}

/* "run", or the reason why a device that opens cannot run the library's kernels, for example an old
 * driver. */
static const char* kernels_do(tw_device* device) {
  tw_prefetch_desc desc;
  tw_plan* plan = NULL;
  if (tw_prefetch_desc_init(&desc, sizeof desc) != TW_OK) return tw_last_error();
  desc.dtype = TW_DTYPE_F32;
  desc.rows = 1;
  desc.columns = 1024;
  if (tw_prefetch_plan(device, &desc, &plan) != TW_OK) return tw_last_error();
  tw_plan_destroy(plan);
  return "run";
}

static void print_device(const tw_device_info* info, const char* kernels, int json) {
  const char* kind = info->kind == TW_DEVICE_CUDA ? "cuda" : "host";
  if (json) {
    printf("{\"kind\": \"%s\", \"ordinal\": %d, \"name\": ", kind, info->ordinal);
    print_quoted(info->name);
    printf(", \"compute\": \"%d.%d\", \"driver\": %d, \"sms\": %d, ", info->compute_major,
           info->compute_minor, info->driver_version, info->sm_count);
    printf("\"memory_bytes\": %llu, \"l2_bytes\": %llu, \"features\": [",
           (unsigned long long)info->total_memory_bytes, (unsigned long long)info->l2_bytes);
    print_features(info->features, "\"", ", ");
    printf("], \"kernels\": ");
    print_quoted(kernels);
    putchar('}');
    return;
  }
  printf("%s %d: %s", kind, info->ordinal, info->name);
  if (info->kind == TW_DEVICE_CUDA)
    printf(", compute capability %d.%d, %d SMs, %llu MB, driver %d.%d", info->compute_major,
           info->compute_minor, info->sm_count, (unsigned long long)info->total_memory_bytes >> 20,
           info->driver_version / 1000, info->driver_version % 1000 / 10);
  printf("; features: ");
  print_features(info->features, "", ", ");
  printf("; kernels: %s\n", kernels);
}

/* Prints a GPU that cannot be used; with ordinal -1, the reason why there is no GPU. */
static void print_unusable(int32_t ordinal, const char* why, int json, const char** separator) {
  if (json) {
    printf("%s{\"kind\": \"cuda\", ", *separator);
    if (ordinal >= 0) printf("\"ordinal\": %d, ", ordinal);
    printf("\"features\": [], \"error\": ");
    print_quoted(why);
    printf("}");
    *separator = ", ";
  } else if (ordinal >= 0) {
    printf("cuda %d: %s\n", ordinal, why);
  } else {
    printf("no GPU: %s\n", why);
  }
}

/* Prints all devices of a kind; for a device that cannot be opened, the reason. */
static int print_devices(tw_device_kind kind, int json, const char** separator) {
  int32_t count = 0;
  if (tw_device_count(kind, &count) != TW_OK) {
    print_unusable(-1, tw_last_error(), json, separator);
    return 0;
  }
  if (count == 0) print_unusable(-1, "the driver finds none", json, separator);
  for (int32_t i = 0; i < count; ++i) {
    tw_device* device = NULL;
    tw_device_info info;
    tw_device_info_init(&info, sizeof info);
    if (tw_device_create(kind, i, &device) != TW_OK) {
      print_unusable(i, tw_last_error(), json, separator);
      continue;
    }
    if (tw_device_get_info(device, &info) != TW_OK) return complain("a device");
    if (json) printf("%s", *separator);
    *separator = ", ";
    print_device(&info, kernels_do(device), json);
    tw_device_destroy(device);
  }
  return 0;
}

static int print_all(int json) {
  const char* separator = "";
  printf(json ? "{\"version\": \"%s\", \"devices\": [" : "tilewright %s\n\n", tw_version_string());
  if (print_devices(TW_DEVICE_HOST, json, &separator) ||
      print_devices(TW_DEVICE_CUDA, json, &separator))
    return 1;
  printf(json ? "], \"families\": " : "\n");
  if (print_families(json)) return 1;
  if (json) printf("}\n");
  return 0;
}

/* The options of the command line. */
typedef struct {
  int json, kernels, help, version;
  const char* dump;   /* name of the kernel to dump, or NULL */
  const char* target; /* target of its image; NULL: all targets */
} request;

static int misused(const char* what, const char* argument) {
  fprintf(stderr, "tilewright-info: %s%s; --help lists the options\n", what, argument);
  return 2;
}

/* Returns 0, or 2 after a message about an unknown argument. */
static int parse(int argc, char** argv, request* out) {
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "--json") == 0) {
      out->json = 1;
    } else if (strcmp(word, "--kernels") == 0) {
      out->kernels = 1;
    } else if (strcmp(word, "--help") == 0) {
      out->help = 1;
    } else if (strcmp(word, "--version") == 0) {
      out->version = 1;
    } else if (strcmp(word, "--dump") == 0) {
      if (i + 1 == argc || argv[i + 1][0] == '-')
        return misused("--dump needs a kernel's name", "");
      out->dump = argv[++i];
      if (i + 1 < argc && argv[i + 1][0] != '-') out->target = argv[++i];
    } else {
      return misused(word[0] == '-' ? "unknown option " : "unexpected argument ", word);
    }
  }
  if (out->dump && (out->json || out->kernels))
    return misused("--dump goes with neither --json nor --kernels", "");
  return 0;
}

int main(int argc, char** argv) {
  request asked = {0, 0, 0, 0, NULL, NULL};
  const int status = parse(argc, argv, &asked);
  if (status) return status;
  if (asked.help) return fputs(usage, stdout) < 0;
  if (asked.version) return printf("tilewright-info %s\n", tw_version_string()) < 0;
  if (asked.dump) return dump_kernel(asked.dump, asked.target);
  return asked.kernels ? print_kernels(asked.json) : print_all(asked.json);
}
