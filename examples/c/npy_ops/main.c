/* SPDX-License-Identifier: Apache-2.0 */
/* npy_ops: runs the library's operations on NumPy files. `npy_ops --help` lists them. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "job.h"

static const char kUsage[] =
    "usage: npy_ops gemm A.npy B.npy -o C.npy            C = A B, of <f2 or <u2 (as bf16)\n       "
    "npy_ops gather T.npy idx.npy -o R.npy        R[i] = T[idx[i]]\n       npy_ops scatter T.npy "
    "idx.npy S.npy -o R.npy R = T, then R[idx[i]] = S[i]\n       npy_ops copy A.npy --box "
    "r0:r1,c0:c1 -o B.npy B = A[r0:r1, c0:c1]\noptions: -o, --output FILE   output file; not "
    "created on failure\n         -d, --device NAME   host, cuda or auto (default: a GPU if there "
    "is one)\n         -r, --repeat N      run N times and print the best time (default "
    "1)\nMatrices are <f4, <f2 or <u2, in C or Fortran order; indices are <i4 or <i8.\nExit code: "
    "0 success, 1 failure of the machine or the library, 2 invalid input.\n";

static const struct {
  const char* name;
  tw_op op;
  int inputs;
} kOps[] = {{"gemm", TW_OP_GEMM, 2},
            {"gather", TW_OP_GATHER, 2},
            {"scatter", TW_OP_SCATTER, 3},
            {"copy", TW_OP_COPY, 1}};

/* Parses "a:b" with 0 <= a < b; returns the rest of the text, or NULL. */
static const char* parse_range(const char* text, int64_t* range) {
  char* end;
  errno = 0;
  const long long first = strtoll(text, &end, 10);
  if (end == text || *end != ':') return NULL;
  text = end + 1;
  const long long last = strtoll(text, &end, 10);
  if (end == text || errno != 0 || first < 0 || last <= first) return NULL;
  range[0] = first;
  range[1] = last;
  return end;
}

static int parse_box(const char* text, int64_t* box) {
  const char* rest = parse_range(text, box);
  if (rest != NULL && *rest == ',') rest = parse_range(rest + 1, box + 2);
  if (rest != NULL && *rest == '\0') return 0;
  return bad_input("--box %s: expected r0:r1,c0:c1 with 0 <= r0 < r1 and 0 <= c0 < c1", text);
}

static int parse_device(const char* text, enum device_choice* device) {
  static const char* const kNames[] = {"auto", "host", "cuda"}; /* in the enum's order */
  for (int i = 0; i < 3; i++) {
    if (strcmp(text, kNames[i]) == 0) {
      *device = (enum device_choice)i;
      return 0;
    }
  }
  return bad_input("--device %s: expected host, cuda or auto", text);
}

static int parse_repeat(const char* text, int* repeat) {
  char* end;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > 1000000) {
    return bad_input("--repeat %s: expected a number from 1 to 1000000", text);
  }
  *repeat = (int)value;
  return 0;
}

/* The operation and its files: the arguments that getopt left. */
static int parse_operands(int count, char** operand, int has_box, struct options* options) {
  size_t i = 0;
  if (count < 1) return bad_input("no operation given: gemm, gather, scatter or copy (see --help)");
  while (i < 4 && strcmp(kOps[i].name, operand[0]) != 0) i++;
  if (i == 4)
    return bad_input("unknown operation %s: expected gemm, gather, scatter or copy", operand[0]);
  options->op = kOps[i].op;
  options->inputs = kOps[i].inputs;
  if (count - 1 != options->inputs) {
    return bad_input("%s takes %d input file%s, not %d", operand[0], options->inputs,
                     options->inputs == 1 ? "" : "s", count - 1);
  }
  for (int k = 0; k < options->inputs; k++) options->input[k] = operand[k + 1];
  if (options->output == NULL) return bad_input("%s: -o FILE is missing", operand[0]);
  if (has_box != (options->op == TW_OP_COPY)) {
    return bad_input(has_box ? "%s takes no --box" : "%s needs --box r0:r1,c0:c1", operand[0]);
  }
  return 0;
}

static int parse(int argc, char** argv, struct options* options) {
  static const struct option kLong[] = {
      {"output", required_argument, NULL, 'o'}, {"device", required_argument, NULL, 'd'},
      {"box", required_argument, NULL, 'b'},    {"repeat", required_argument, NULL, 'r'},
      {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
  int has_box = 0;
  int letter;
  options->repeat = 1;
  while ((letter = getopt_long(argc, argv, "o:d:b:r:h", kLong, NULL)) != -1) {
    int code = 0;
    switch (letter) {
      case 'o':
        options->output = optarg;
        break;
      case 'd':
        code = parse_device(optarg, &options->device);
        break;
      case 'r':
        code = parse_repeat(optarg, &options->repeat);
        break;
      case 'b':
        code = parse_box(optarg, options->box);
        has_box = 1;
        break;
      case 'h':
        fputs(kUsage, stdout);
        exit(0);
      default:
        return EXIT_BAD_INPUT; /* getopt has printed the reason */
    }
    if (code != 0) return code;
  }
  return parse_operands(argc - optind, argv + optind, has_box, options);
}

int main(int argc, char** argv) {
  struct job job;
  memset(&job, 0, sizeof(job));
  int code = parse(argc, argv, &job.options);
  if (code == 0) code = job_prepare(&job);
  if (code == 0) code = job_run(&job);
  job_free(&job);
  return code;
}
