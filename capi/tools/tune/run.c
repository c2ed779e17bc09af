/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

static volatile sig_atomic_t interrupted;

void tune_interrupt(void) {
  interrupted = 1;
}

/* Totals of all jobs. */
typedef struct {
  int32_t tuned, changed, skipped; /* a dry run counts listed jobs as tuned */
  double before, after;            /* microseconds of all tuned jobs */
  int lost;                        /* the device was lost, and the other jobs were not tried */
} tally;

static int failed(const char* what, tw_status status) {
  tune_complain(what, "%s: %s", tw_status_name(status), tune_reason(status));
  return TUNE_FAILED;
}

static const char* device_word(tw_device_kind kind) {
  return kind == TW_DEVICE_CUDA ? "cuda" : "host";
}

static int open_device(const tune_options* options, tune_session* session, tw_device_info* info) {
  char name[32];
  tw_status status = tw_device_create(options->kind, options->ordinal, &session->device);
  snprintf(name, sizeof name, "device %s:%d", device_word(options->kind), (int)options->ordinal);
  if (status != TW_OK && options->kind == TW_DEVICE_CUDA) {
    tune_complain(name, "%s: %s; --device host measures on the CPU reference",
                  tw_status_name(status), tune_reason(status));
    return TUNE_FAILED;
  }
  if (status == TW_OK) status = tw_device_info_init(info, sizeof *info);
  if (status == TW_OK) status = tw_device_get_info(session->device, info);
  if (status == TW_OK) status = tw_stream_create(session->device, &session->stream);
  return status == TW_OK ? TUNE_DONE : failed(name, status);
}

/* Loads the entries of the file to merge with, if there is one. */
static int load(const tune_options* options, tw_gemm_tuning* set) {
  char* text;
  tw_status status = TW_OK;
  if (!options->merge || !file_exists(options->out)) return TUNE_DONE;
  text = file_read(options->out);
  if (!text) return TUNE_FAILED;
  if (text[0] != '\0') status = tw_gemm_tuning_load(set, text);
  free(text);
  return status == TW_OK ? TUNE_DONE : failed(options->out, status);
}

/* Adds the chip's rates to the set. */
static int calibrate(const tune_session* session) {
  uint64_t scratch = 0;
  tw_status status = tw_malloc(session->device, TW_GEMM_CALIBRATION_BYTES, &scratch);
  if (status == TW_OK)
    status = tw_gemm_calibrate(session->set, session->stream, scratch, TW_GEMM_CALIBRATION_BYTES);
  if (status != TW_OK) (void)failed("--calibrate", status);
  (void)tw_free(session->device, scratch);
  return status == TW_OK ? TUNE_DONE : TUNE_FAILED;
}

static int set_up(const tune_options* options, tune_session* session) {
  tw_status status = tw_gemm_tune_desc_init(&session->how, sizeof session->how);
  if (status == TW_OK) status = tw_gemm_tuning_create(&session->set);
  if (status != TW_OK) return failed("a tuning", status);
  if (options->candidates >= 0) session->how.candidates = options->candidates;
  if (options->rounds >= 0) session->how.rounds = options->rounds;
  return load(options, session->set);
}

/* Leaves out products that this device cannot compute. An invalid description is a mistake in the
 * list, which the user should hear of before hours of measuring. */
static int check(const tune_session* session, tune_jobs* jobs, tally* sum) {
  const tune_shape* told = NULL; /* one message is enough for all m of a shape */
  int32_t kept = 0;
  int mistakes = 0;
  for (int32_t i = 0; i < jobs->count; ++i) {
    const tw_status status = tw_gemm_supported(session->device, &jobs->items[i].desc);
    char name[640];
    if (status == TW_OK) {
      jobs->items[kept++] = jobs->items[i];
      continue;
    }
    ++*(status == TW_ERROR_UNSUPPORTED ? &sum->skipped : &mistakes);
    if (told == jobs->items[i].shape) continue;
    told = jobs->items[i].shape;
    job_name(&jobs->items[i], name, sizeof name);
    tune_complain(name, "%s: %s", tw_status_name(status), tune_reason(status));
  }
  jobs->count = kept;
  return mistakes > 0 ? TUNE_MISUSED : TUNE_DONE;
}

static int options_width(const tune_jobs* jobs) {
  int widest = 7;
  for (int32_t i = 0; i < jobs->count; ++i) {
    char text[512] = "";
    shape_options(jobs->items[i].shape, text, sizeof text);
    if ((int)strlen(text) > widest) widest = (int)strlen(text);
  }
  return widest < 48 ? widest : 48;
}

static const char* job_columns(const tune_jobs* jobs, int32_t i, int width, char* text,
                               size_t size) {
  const tune_job* const job = &jobs->items[i];
  char options[512] = "", number[32];
  shape_options(job->shape, options, sizeof options);
  snprintf(number, sizeof number, "%d/%d", (int)i + 1, (int)jobs->count);
  snprintf(text, size, "%9s %8lld %8lld %8lld  %-*s", number, (long long)job->desc.m,
           (long long)job->desc.n, (long long)job->desc.k, width, options);
  return text;
}

/* Prints the list of --dry-run to the standard output. */
static int list(const tune_session* session, const tune_jobs* jobs, tally* sum) {
  const int width = options_width(jobs);
  printf("%9s %8s %8s %8s  %-*s %16s %8s  %s\n", "", "m", "n", "k", width, "options", "bytes", "us",
         "kernel so far, and its time by the cost model or as it was measured");
  for (int32_t i = 0; i < jobs->count && !interrupted; ++i) {
    const tune_job* const job = &jobs->items[i];
    char columns[640], name[640];
    uint64_t bytes = 0;
    tw_gemm_candidate now;
    tw_status status = memory_needed(session->device, job, &bytes);
    if (status == TW_OK) status = measure_chosen(session->device, job, session->set, &now);
    if (status == TW_OK) {
      printf("%s %16llu %8.1f  %s\n", job_columns(jobs, i, width, columns, sizeof columns),
             (unsigned long long)bytes, now.microseconds, now.text);
      ++sum->tuned;
      continue;
    }
    ++sum->skipped;
    job_name(job, name, sizeof name);
    tune_complain(name, "%s: %s", tw_status_name(status), tune_reason(status));
  }
  if (fflush(stdout) == 0 && !ferror(stdout)) return TUNE_DONE;
  tune_complain("standard output", "cannot be written");
  return TUNE_FAILED;
}

static void print_head(const tune_session* session, const tw_device_info* info) {
  char tried[32] = "all", read[80];
  if (session->how.candidates > 0)
    snprintf(tried, sizeof tried, "%d", (int)session->how.candidates);
  snprintf(read, sizeof read, "%llu bytes are read before each run",
           (unsigned long long)session->memory.flush_bytes);
  tune_say("tilewright-tune %s: %s:%d, %s, %d SMs; %s candidates, %d rounds; %s\n",
           tw_version_string(), device_word(info->kind), (int)info->ordinal, info->name,
           (int)info->sm_count, tried, (int)session->how.rounds,
           session->memory.flush_bytes > 0 ? read : "runs find what is cached");
}

static void print_row(const tune_jobs* jobs, int32_t i, int width, const tune_result* result) {
  const int same = strcmp(result->before.text, result->tuned.text) == 0;
  char columns[640];
  tune_say("%s %10.2f %10.2f %6.2f  %s%s%s\n", job_columns(jobs, i, width, columns, sizeof columns),
           result->before.microseconds, result->tuned.microseconds,
           result->before.microseconds / result->tuned.microseconds, result->tuned.text,
           same ? " as before" : ", was ", same ? "" : result->before.text);
}

/* Measures all jobs, one by one. */
static void measure(tune_session* session, const tune_jobs* jobs, tally* sum) {
  const int width = options_width(jobs);
  tune_say("%9s %8s %8s %8s  %-*s %10s %10s %6s  %s\n", "", "m", "n", "k", width, "options",
           "before us", "tuned us", "gain", "kernel");
  for (int32_t i = 0; i < jobs->count && !sum->lost && !interrupted; ++i) {
    tune_result result;
    const int status = measure_job(session, &jobs->items[i], &result);
    sum->lost = status == TUNE_FAILED;
    sum->skipped += status == TUNE_INCOMPLETE;
    if (status != TUNE_DONE) continue;
    ++sum->tuned;
    sum->changed += strcmp(result.before.text, result.tuned.text) != 0;
    sum->before += result.before.microseconds;
    sum->after += result.tuned.microseconds;
    print_row(jobs, i, width, &result);
  }
}

/* Writes the tuned entries and, with --calibrate, the rates, even if other jobs failed. Without
 * either, the file is not changed. */
static int save(const tune_options* options, const tune_session* session, const tally* sum) {
  size_t length = 0;
  char* text = NULL;
  int status = TUNE_DONE;
  tw_status formatted;
  if (sum->tuned == 0 && !options->calibrate) {
    tune_say("nothing was tuned, and nothing is written\n");
    return TUNE_DONE;
  }
  formatted = tw_gemm_tuning_format(session->set, NULL, 0, &length);
  if (formatted == TW_OK && !(text = malloc(length))) formatted = TW_ERROR_OUT_OF_MEMORY;
  if (formatted == TW_OK) formatted = tw_gemm_tuning_format(session->set, text, length, NULL);
  status = formatted == TW_OK ? file_write(options->out, text) : failed("a tuning", formatted);
  /* Print the entries if the file cannot be written, so that hours of measuring are not lost. */
  if (status && text && options->out) {
    tune_say("what was to be written there follows on the standard output\n");
    file_write(NULL, text);
  }
  free(text);
  return status;
}

static void print_sum(const tune_options* options, const tune_jobs* jobs, const tally* sum) {
  const int32_t left = jobs->count - sum->tuned;
  if (sum->tuned > 0)
    tune_say("%d tuned, %d with another kernel than before: together %.2f us, before %.2f (%.2f)\n",
             (int)sum->tuned, (int)sum->changed, sum->after, sum->before, sum->before / sum->after);
  if (sum->skipped > 0) tune_say("%d not tuned, for the reasons above\n", (int)sum->skipped);
  if (interrupted && left > 0) tune_say("interrupted: the rest was not tuned\n");
  if ((sum->tuned > 0 || options->calibrate) && options->out)
    tune_say("written to %s\n", options->out);
}

static int outcome(const tune_jobs* jobs, const tally* sum) {
  if (sum->lost) return TUNE_FAILED;
  return sum->skipped > 0 || sum->tuned < jobs->count ? TUNE_INCOMPLETE : TUNE_DONE;
}

static int work(const tune_options* options, tune_session* session, const tw_device_info* info,
                tune_jobs* jobs) {
  tally sum;
  /* Reading four times the size of the L2 cache evicts all operands. */
  const uint64_t flush =
      options->flush_bytes < 0 ? 4 * info->l2_bytes : (uint64_t)options->flush_bytes;
  int status;
  memset(&sum, 0, sizeof sum);
  status = check(session, jobs, &sum);
  if (status == TUNE_DONE) jobs_leave_out(jobs, info->sm_count);
  if (status == TUNE_DONE && options->dry_run) {
    status = list(session, jobs, &sum);
    return status ? status : outcome(jobs, &sum);
  }
  if (status == TUNE_DONE) status = file_check(options->out);
  if (status == TUNE_DONE && options->calibrate) status = calibrate(session);
  if (status == TUNE_DONE)
    status = memory_open(&session->memory, session->device, session->stream, flush);
  if (status) return status;
  if (jobs->count > 0) {
    print_head(session, info);
    measure(session, jobs, &sum);
  }
  status = save(options, session, &sum);
  if (status) return status;
  print_sum(options, jobs, &sum);
  return outcome(jobs, &sum);
}

int tune_run(const tune_options* options) {
  tune_session session;
  tune_jobs jobs;
  tw_device_info info;
  int status;
  memset(&session, 0, sizeof session);
  memset(&jobs, 0, sizeof jobs);
  status = open_device(options, &session, &info);
  if (status == TUNE_DONE) status = set_up(options, &session);
  if (status == TUNE_DONE) status = jobs_make(&options->shapes, &jobs);
  if (status == TUNE_DONE) status = work(options, &session, &info, &jobs);
  jobs_free(&jobs);
  memory_close(&session.memory);
  tw_gemm_tuning_destroy(session.set);
  tw_stream_destroy(session.stream);
  tw_device_destroy(session.device);
  return status;
}
