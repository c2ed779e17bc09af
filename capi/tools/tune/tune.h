/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TOOLS_TUNE_H
#define TILEWRIGHT_TOOLS_TUNE_H
/* The parts of tilewright-tune, which measures kernels for a list of matrix products and writes the
 * fastest as text for tw_gemm_tuning_load(). */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilewright/tilewright.h>

/* Exit statuses. A function that returns int returns one of them; all but TUNE_DONE come after a
 * line on tune_messages. */
enum {
  TUNE_DONE = 0,
  TUNE_FAILED = 1,    /* the device, a file or memory failed */
  TUNE_MISUSED = 2,   /* the command line or a shape cannot be read, or can work nowhere */
  TUNE_INCOMPLETE = 3 /* some shapes were not tuned; the others were */
};

/* messages.c */

/* Where messages and the table of progress go; NULL: stderr. Tests read what is written to it. */
extern FILE* tune_messages;

#if defined(__GNUC__)
#define TUNE_PRINTF __attribute__((format(printf, 1, 2)))
#define TUNE_PRINTF_AT __attribute__((format(printf, 2, 3)))
#else
#define TUNE_PRINTF
#define TUNE_PRINTF_AT
#endif

void tune_say(const char* format, ...) TUNE_PRINTF;
/* A line "tilewright-tune: WHERE: ...". */
void tune_complain(const char* where, const char* format, ...) TUNE_PRINTF_AT;
/* The library's message of a call that failed just now, or of a failure of this program's own with
 * the same status what that means. */
const char* tune_reason(tw_status status);

/* steps.c: the steps of m for which kernels are chosen, as tw_gemm_plan_tuned() states them. */

/* The last m of the step that m lies in. */
int64_t step_end(int64_t m);
/* The fewest rows that a choice measured at m serves; the most are step_end(m). */
int64_t step_served_from(int64_t m);

/* rows.c: lists of m. */

enum { MAX_ROWS = 4096 };

typedef struct {
  int64_t* m; /* ascending, each once */
  int32_t count;
} tune_rows;

/* Reads "1,8,64-256". Of a text that cannot be read `why` says what is wrong and what would work,
 * and the result is not 0. */
int rows_read(const char* text, tune_rows* rows, char* why, size_t size);
void rows_free(tune_rows* rows);
/* A number from 1 to `most`, of digits alone: returns what follows it, or NULL. */
const char* number_read(const char* text, int64_t most, int64_t* number);

/* shapes.c: matrix products as the command line and files name them. */

/* The most of m, n and k. */
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

/* Adds the shape of a line, or nothing where the line has none. */
int shapes_add(tune_shapes* shapes, const char* where, const char* line);
/* Adds the shapes of a file, "-" for the standard input; looks at all lines whatever it finds. */
int shapes_add_file(tune_shapes* shapes, const char* path);
void shapes_free(tune_shapes* shapes);
/* Everything but m, n and k, as a line would say it; what is left to its default is left out,
 * except types and orders. */
void shape_options(const tune_shape* shape, char* text, size_t size);

/* jobs.c: what is measured, each m of a shape by itself. */

typedef struct {
  const tune_shape* shape;
  tw_gemm_desc desc; /* of this m alone */
} tune_job;

typedef struct {
  tune_job* items;
  int32_t count;
} tune_jobs;

/* One job for each m of each shape. */
int jobs_make(const tune_shapes* shapes, tune_jobs* jobs);
/* Of jobs whose tuning entries would be for the same product and step of m, plans take the one of
 * the most rows: the others are left out, with a line that says so. `sms` are the device's. */
void jobs_leave_out(tune_jobs* jobs, int32_t sms);
void jobs_free(tune_jobs* jobs);
/* "shapes.txt, line 3: m=64 n=576 k=7168 bf16->bf16 rcr". */
void job_name(const tune_job* job, char* text, size_t size);

/* memory.c: operands. */

typedef struct {
  tw_device* device;
  tw_stream* stream;
  int is_host;
  uint64_t block, bytes;       /* of the operands of one job */
  uint64_t flush, flush_bytes; /* what is read between runs */
} tune_memory;

int memory_open(tune_memory* memory, tw_device* device, tw_stream* stream, uint64_t flush_bytes);
void memory_close(tune_memory* memory);
/* Bytes that a job's operands need, UINT64_MAX where 64 bits cannot count them. */
tw_status memory_needed(tw_device* device, const tune_job* job, uint64_t* bytes);
/* Bytes of one block that could be allocated, `wanted` at most: on a GPU found out by trying. */
uint64_t memory_free(const tune_memory* memory, uint64_t wanted);
/* Allocates a job's operands in the place of the last job's, fills them with numbers, and fills in
 * the arguments of its runs. TUNE_INCOMPLETE where they do not fit. */
int memory_for(tune_memory* memory, const tune_job* job, tw_gemm_args* args);

/* measure.c */

typedef struct {
  tw_device* device;
  tw_stream* stream;
  tune_memory memory;
  tw_gemm_tune_desc how;
  tw_gemm_tuning* set; /* what is known, and gets the entries */
} tune_session;

typedef struct {
  tw_gemm_candidate before; /* what a plan would have taken, with its time */
  tw_gemm_candidate tuned;  /* what it takes now; the same where nothing is faster */
} tune_result;

/* What a plan for the job takes by a set. */
tw_status measure_chosen(tw_device* device, const tune_job* job, const tw_gemm_tuning* set,
                         tw_gemm_candidate* chosen);
/* Measures, and adds an entry to the session's set. TUNE_INCOMPLETE: this job has none, the next
 * may; TUNE_FAILED: the device is lost. */
int measure_job(tune_session* session, const tune_job* job, tune_result* result);

/* files.c */

/* The whole of a file as text, "-" for the standard input, to be freed; NULL after a line that says
 * why. */
char* file_read(const char* path);
/* Whether there is a file, of whatever kind. */
int file_exists(const char* path);
/* Whether file_write() will be able to, as far as can be said without writing. */
int file_check(const char* path);
/* Writes a text as a whole or not at all; to the standard output where path is NULL. */
int file_write(const char* path, const char* text);

/* run.c */

typedef struct {
  tune_shapes shapes;
  const char* out; /* a file, or NULL: the standard output */
  int merge;       /* the file's entries are kept */
  int dry_run;     /* nothing is measured or written but a list on the standard output */
  tw_device_kind kind;
  int32_t ordinal;
  int32_t candidates, rounds; /* -1: as tw_gemm_tune_desc_init() has them */
  int64_t flush_bytes;        /* read between runs; -1: by the size of the L2; 0: nothing */
} tune_options;

/* Everything that the command line asks for. */
int tune_run(const tune_options* options);
/* Makes tune_run() stop behind the job that it is at, and write what it has. */
void tune_interrupt(void);

#endif
