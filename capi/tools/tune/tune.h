/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TOOLS_TUNE_H
#define TILEWRIGHT_TOOLS_TUNE_H
/* The parts of tilewright-tune, which measures kernels for a list of matrix products and writes the
 * fastest as text for tw_gemm_tuning_load(). */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilewright/tilewright.h>

/* Exit statuses. A function that returns int returns one of them, after a message unless it is
 * TUNE_DONE. */
enum {
  TUNE_DONE = 0,
  TUNE_FAILED = 1,    /* the device, a file or memory failed */
  TUNE_MISUSED = 2,   /* the command line or a shape cannot be read, or is invalid */
  TUNE_INCOMPLETE = 3 /* some shapes were not tuned; the others were */
};

/* messages.c */

/* Stream of messages and of the table of progress; NULL: stderr. Tests set it and read the output.
 */
extern FILE* tune_messages;

#if defined(__GNUC__)
#define TUNE_PRINTF __attribute__((format(printf, 1, 2)))
#define TUNE_PRINTF_AT __attribute__((format(printf, 2, 3)))
#else
#define TUNE_PRINTF
#define TUNE_PRINTF_AT
#endif

void tune_say(const char* format, ...) TUNE_PRINTF;
/* Writes a line "tilewright-tune: WHERE: ...". */
void tune_complain(const char* where, const char* format, ...) TUNE_PRINTF_AT;
/* The library's message if its last failure has this status; otherwise the general meaning of the
 * status. */
const char* tune_reason(tw_status status);

/* steps.c: the steps of m for which kernels are chosen, as tw_gemm_plan_tuned() states them. */

/* The last m of the step that contains m. */
int64_t step_end(int64_t m);
/* The smallest number of rows that an entry measured at m serves; the largest is step_end(m). */
int64_t step_served_from(int64_t m);

/* rows.c: lists of m. */

enum { MAX_ROWS = 4096 };

typedef struct {
  int64_t* m; /* ascending, each once */
  int32_t count;
} tune_rows;

/* Reads "1,8,64-256". On failure it returns a number other than 0, and `why` says what is wrong and
 * what would work. */
int rows_read(const char* text, tune_rows* rows, char* why, size_t size);
void rows_free(tune_rows* rows);
/* Reads a number from 1 to `most` that has only digits. Returns the rest of the text, or NULL on
 * failure. */
const char* number_read(const char* text, int64_t most, int64_t* number);

/* shapes.c: matrix products, in the syntax of the command line and of files. */

/* Largest value of m, n and k. */
#define TUNE_MAX_EXTENT INT64_C(2147482624)

typedef struct {
  char* where;       /* "shapes.txt, line 3", for messages */
  tw_gemm_desc desc; /* with the first m of `rows` */
  tune_rows rows;
} tune_shape;

typedef struct {
  tune_shape* items;
  int32_t count;
} tune_shapes;

/* Adds the shape of a line, if the line has one. */
int shapes_add(tune_shapes* shapes, const char* where, const char* line);
/* Adds the shapes of a file, "-" for the standard input. Reads all lines even after a failure. */
int shapes_add_file(tune_shapes* shapes, const char* path);
void shapes_free(tune_shapes* shapes);
/* Writes everything but m, n and k in the syntax of a line. Defaults are left out, except types and
 * orders. */
void shape_options(const tune_shape* shape, char* text, size_t size);

/* jobs.c: the measurements, one job for each m of a shape. */

typedef struct {
  const tune_shape* shape;
  tw_gemm_desc desc; /* of this m only */
} tune_job;

typedef struct {
  tune_job* items;
  int32_t count;
} tune_jobs;

/* One job for each m of each shape. */
int jobs_make(const tune_shapes* shapes, tune_jobs* jobs);
/* If several jobs have tuning entries for the same product and step of m, plans use the one with
 * the most rows. The others are left out with a message. `sms` is the device's number of SMs. */
void jobs_leave_out(tune_jobs* jobs, int32_t sms);
void jobs_free(tune_jobs* jobs);
/* "shapes.txt, line 3: m=64 n=576 k=7168 bf16->bf16 rcr". */
void job_name(const tune_job* job, char* text, size_t size);

/* memory.c: operands. */

typedef struct {
  tw_device* device;
  tw_stream* stream;
  int is_host;
  uint64_t block, bytes;       /* address and size of the operands of one job */
  uint64_t flush, flush_bytes; /* memory that is read between runs */
} tune_memory;

int memory_open(tune_memory* memory, tw_device* device, tw_stream* stream, uint64_t flush_bytes);
void memory_close(tune_memory* memory);
/* Bytes that a job's operands need; UINT64_MAX if they exceed 64 bits. */
tw_status memory_needed(tw_device* device, const tune_job* job, uint64_t* bytes);
/* Largest block that can be allocated, at most `wanted` bytes. On a GPU it is found by trying. */
uint64_t memory_free(const tune_memory* memory, uint64_t wanted);
/* Allocates a job's operands instead of the previous job's, fills them with numbers, and sets the
 * arguments of its runs. TUNE_INCOMPLETE if they do not fit. */
int memory_for(tune_memory* memory, const tune_job* job, tw_gemm_args* args);

/* measure.c */

typedef struct {
  tw_device* device;
  tw_stream* stream;
  tune_memory memory;
  tw_gemm_tune_desc how;
  tw_gemm_tuning* set; /* the tuning entries so far; new entries are added to it */
} tune_session;

typedef struct {
  tw_gemm_candidate before; /* the previous choice of a plan, with its time */
  tw_gemm_candidate tuned;  /* the new choice; the same if nothing is faster */
} tune_result;

/* The candidate that a plan for the job chooses with a set. */
tw_status measure_chosen(tw_device* device, const tune_job* job, const tw_gemm_tuning* set,
                         tw_gemm_candidate* chosen);
/* Measures a job and adds its entry to the session's set. TUNE_INCOMPLETE: this job gets no entry,
 * but others may; TUNE_FAILED: the device is lost. */
int measure_job(tune_session* session, const tune_job* job, tune_result* result);

/* files.c */

/* Reads a file as text, "-" for the standard input; the caller frees it. Returns NULL after a
 * message on failure. */
char* file_read(const char* path);
/* Whether a file of any kind exists. */
int file_exists(const char* path);
/* Whether file_write() can write the file, as far as that is known without writing. */
int file_check(const char* path);
/* Writes a text completely or not at all; to the standard output if path is NULL. */
int file_write(const char* path, const char* text);

/* run.c */

typedef struct {
  tune_shapes shapes;
  const char* out; /* a file; NULL: the standard output */
  int merge;       /* keep the file's entries */
  int calibrate;   /* measure the chip's rates first */
  int dry_run;     /* only print a list to the standard output; measure and write nothing */
  tw_device_kind kind;
  int32_t ordinal;
  int32_t candidates, rounds; /* -1: the defaults of tw_gemm_tune_desc_init() */
  int64_t flush_bytes;        /* bytes read between runs; -1: by the L2 cache's size; 0: none */
} tune_options;

/* Runs the program with the options of the command line. */
int tune_run(const tune_options* options);
/* Makes tune_run() stop after the current job and write its entries. */
void tune_interrupt(void);

#endif
