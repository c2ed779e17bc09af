/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JOB_H
#define JOB_H
/* The data of one run of the program: its command line, the arrays, and the library's description.
 * job_prepare() (prepare.c) reads the files and fills it, job_run() (run.c) executes it. */

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
  int64_t box[4]; /* of copy: r0, r1, c0, c1 */
  int repeat;
};

struct job {
  struct options options;
  struct npy input[MAX_INPUTS]; /* gemm: A, B. gather: T, index. scatter: T, index, S. copy: A */
  struct npy result;            /* unused by scatter, which changes input[0] */
  uint64_t copy_offset;         /* bytes from A's first element to the box */
  union {
    tw_gemm_desc gemm;
    tw_rows_desc rows;
    tw_copy_desc copy;
  } desc;
};

/* Reads and checks the inputs, and creates the description. */
int job_prepare(struct job* job);

/* Opens the device, runs the plan, writes the result and prints a report. */
int job_run(struct job* job);

void job_free(struct job* job);

#endif
