/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JOB_H
#define JOB_H
/* One run of the program: what the command line asked for, the arrays, and the description that the
 * library gets. job_prepare() fills it from the files (prepare.c), job_run() runs it (run.c). */

#include <tilewright/tilewright.h>

#include "npy.h"

enum device_choice { DEVICE_AUTO, DEVICE_HOST, DEVICE_CUDA };
enum { MAX_INPUTS = 3 };

struct options {
  tw_op op;
  int inputs;
  const char* input[MAX_INPUTS];
  const char* output;
  enum device_choice device;
  int64_t box[4]; /* of a copy: r0, r1, c0, c1 */
  int repeat;
};

struct job {
  struct options options;
  struct npy input[MAX_INPUTS]; /* gemm: A, B. gather: T, index. scatter: T, index, S. copy: A */
  struct npy result;            /* of a scatter it is input[0], changed */
  uint64_t copy_offset;         /* bytes from A's first element to the box's */
  union {
    tw_gemm_desc gemm;
    tw_rows_desc rows;
    tw_copy_desc copy;
  } desc;
};

/* Reads the inputs, checks all that the program can check, makes the description. */
int job_prepare(struct job* job);

/* Opens the device, runs, fetches the result, writes the output, prints what ran. */
int job_run(struct job* job);

void job_free(struct job* job);

#endif
