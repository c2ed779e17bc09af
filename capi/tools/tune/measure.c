/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* Makes a copy of a set of tuning entries. */
static tw_status copy_set(const tw_gemm_tuning* from, tw_gemm_tuning** to) {
  size_t length = 0;
  char* text = NULL;
  tw_status status = tw_gemm_tuning_format(from, NULL, 0, &length);
  if (status == TW_OK && !(text = malloc(length))) status = TW_ERROR_OUT_OF_MEMORY;
  if (status == TW_OK) status = tw_gemm_tuning_format(from, text, length, NULL);
  if (status == TW_OK) status = tw_gemm_tuning_create(to);
  if (status == TW_OK) status = tw_gemm_tuning_load(*to, text);
  free(text);
  return status;
}

tw_status measure_chosen(tw_device* device, const tune_job* job, const tw_gemm_tuning* set,
                         tw_gemm_candidate* chosen) {
  tw_plan* plan = NULL;
  int32_t count = 0;
  tw_status status = tw_gemm_candidate_init(chosen, sizeof *chosen);
  if (status == TW_OK) status = tw_gemm_plan_tuned(device, &job->desc, set, &plan);
  /* The plan serves one m, by one kernel. */
  if (status == TW_OK) status = tw_gemm_ranges(plan, chosen, 1, &count);
  tw_plan_destroy(plan);
  return status;
}

/* Times the first `candidates` kernels for a job and adds the fastest to the set. The first kernel
 * is the one that a plan chooses with this set. */
static tw_status race(const tune_session* session, const tune_job* job, const tw_gemm_args* args,
                      int32_t candidates, tw_gemm_tuning* set, tw_gemm_candidate* best) {
  tw_gemm_tune_desc how = session->how;
  const tw_status status = tw_gemm_candidate_init(best, sizeof *best);
  how.candidates = candidates;
  return status != TW_OK ? status
                         : tw_gemm_tune(set, session->stream, &job->desc, args, &how, best);
}

/* The smallest of a dozen measured times is too small on average. So the winner and the previous
 * choice are timed again, alternating and twice each: a chip that slows down favors neither. */
static tw_status compare(const tune_session* session, const tune_job* job, const tw_gemm_args* args,
                         tw_gemm_tuning* before_set, tw_gemm_tuning* tuned_set,
                         tune_result* result) {
  double before = 0, tuned = 0;
  for (int i = 0; i < 4; ++i) {
    const int is_before = i == 0 || i == 3;
    tw_gemm_candidate once;
    const tw_status status = race(session, job, args, 1, is_before ? before_set : tuned_set, &once);
    if (status != TW_OK) return status;
    *(is_before ? &before : &tuned) += once.microseconds / 2;
  }
  result->before.microseconds = before;
  result->tuned.microseconds = tuned;
  return TW_OK;
}

static int is_same(const tw_gemm_candidate* a, const tw_gemm_candidate* b) {
  return strcmp(a->text, b->text) == 0;
}

static int refuse(const tune_job* job, tw_status status) {
  char name[640];
  job_name(job, name, sizeof name);
  tune_complain(name, "%s: %s", tw_status_name(status), tune_reason(status));
  /* After one of these failures the device is unusable. */
  return status == TW_ERROR_DEVICE_LOST || status == TW_ERROR_DRIVER || status == TW_ERROR_SHUTDOWN
             ? TUNE_FAILED
             : TUNE_INCOMPLETE;
}

/* Refuses a job if the file to merge with has an entry for more rows of the same step, which plans
 * would prefer. */
static int refuse_shadowed(const tune_job* job) {
  char name[640];
  job_name(job, name, sizeof name);
  tune_complain(name,
                "the file has an entry for more rows of the same step, up to m=%lld, which plans "
                "take: tune that m, or take its line out of the file",
                (long long)step_end(job->desc.m));
  return TUNE_INCOMPLETE;
}

/* Adds the kernel that a plan chooses so far to `before_set` and the fastest one to `tuned_set`.
 * `kept` becomes the set to continue with. */
static int measure(tune_session* session, const tune_job* job, const tw_gemm_args* args,
                   tw_gemm_tuning* before_set, tw_gemm_tuning* tuned_set, tune_result* result,
                   tw_gemm_tuning** kept) {
  tw_gemm_candidate taken;
  tw_status status = race(session, job, args, 1, before_set, &result->before);
  if (status == TW_OK)
    status = race(session, job, args, session->how.candidates, tuned_set, &result->tuned);
  if (status == TW_OK) status = measure_chosen(session->device, job, tuned_set, &taken);
  if (status != TW_OK) return refuse(job, status);
  if (!is_same(&taken, &result->tuned)) return refuse_shadowed(job);
  *kept = tuned_set;
  if (is_same(&result->before, &result->tuned)) {
    result->before.microseconds = result->tuned.microseconds;
    return TUNE_DONE;
  }
  status = compare(session, job, args, before_set, tuned_set, result);
  if (status != TW_OK) return refuse(job, status);
  if (result->tuned.microseconds >= result->before.microseconds) {
    result->tuned = result->before;
    *kept = before_set;
  }
  return TUNE_DONE;
}

int measure_job(tune_session* session, const tune_job* job, tune_result* result) {
  tw_gemm_args args;
  tw_gemm_tuning *before_set = NULL, *tuned_set = NULL, *kept = NULL;
  int done = memory_for(&session->memory, job, &args);
  tw_status status;
  if (done) return done;
  status = copy_set(session->set, &before_set);
  if (status == TW_OK) status = copy_set(session->set, &tuned_set);
  done = status == TW_OK ? measure(session, job, &args, before_set, tuned_set, result, &kept)
                         : refuse(job, status);
  if (done == TUNE_DONE) {
    tw_gemm_tuning_destroy(session->set);
    session->set = kept;
  }
  if (before_set != session->set) tw_gemm_tuning_destroy(before_set);
  if (tuned_set != session->set) tw_gemm_tuning_destroy(tuned_set);
  return done;
}
