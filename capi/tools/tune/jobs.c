/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

void job_name(const tune_job* job, char* text, size_t size) {
  char options[512] = "";
  shape_options(job->shape, options, sizeof options);
  snprintf(text, size, "%s: m=%lld n=%lld k=%lld %s", job->shape->where, (long long)job->desc.m,
           (long long)job->desc.n, (long long)job->desc.k, options);
}

/* Types whose kernels have every epilogue. */
static int is_narrow(tw_dtype type) {
  return type == TW_DTYPE_F8E4M3 || type == TW_DTYPE_F8E5M2 || type == TW_DTYPE_I8 ||
         type == TW_DTYPE_TF32;
}

/* Whether a product takes an epilogue kernel or a batched kernel. Tuning entries tell these from
 * basic kernels, and nothing else of the options below. */
static int needs_epilogue_or_batch(const tw_gemm_desc* d) {
  return is_narrow(d->a_dtype) || d->bias || d->activation || d->gate || d->d_factor ||
         d->batch_count > 1 ||
         (d->flags &
          (TW_GEMM_AMAX | TW_GEMM_BATCH_POINTERS | TW_GEMM_DEVICE_M | TW_GEMM_DEVICE_SCALARS)) != 0;
}

static int32_t sms_of(const tw_gemm_desc* d, int32_t sms) {
  return d->max_sms == 0 || d->max_sms > (uint32_t)sms ? sms : (int32_t)d->max_sms;
}

/* Whether the tuning entries of two jobs would be for the same product and step of m. */
static int same_entry(const tune_job* one, const tune_job* other, int32_t sms) {
  const tw_gemm_desc *const a = &one->desc, *const b = &other->desc;
  return a->n == b->n && a->k == b->k && step_end(a->m) == step_end(b->m) &&
         a->a_dtype == b->a_dtype && a->b_dtype == b->b_dtype && a->d_dtype == b->d_dtype &&
         a->a_scale == b->a_scale && a->b_scale == b->b_scale && a->d_quantize == b->d_quantize &&
         a->accumulator_dtype == b->accumulator_dtype && a->a_order == b->a_order &&
         a->b_order == b->b_order && a->d_order == b->d_order && a->batch_count == b->batch_count &&
         needs_epilogue_or_batch(a) == needs_epilogue_or_batch(b) &&
         sms_of(a, sms) == sms_of(b, sms) &&
         ((a->flags ^ b->flags) & (TW_GEMM_PROGRAMMATIC | TW_GEMM_FAST_ACCUMULATE)) == 0;
}

/* Jobs that are left out. One message tells those of the same two shapes. */
typedef struct {
  const tune_shape *shape, *kept; /* NULL: none so far */
  int32_t count;
  char rows[64];
} left_out;

static void tell(left_out* left) {
  char options[512] = "";
  if (!left->shape) return;
  shape_options(left->shape, options, sizeof options);
  tune_say(
      "left out: %s: n=%lld k=%lld %s with m=%s%s: of a step of m plans take the entry of the "
      "most rows, here of %s\n",
      left->shape->where, (long long)left->shape->desc.n, (long long)left->shape->desc.k, options,
      left->rows, left->count > 8 ? ",..." : "", left->kept->where);
  left->shape = NULL;
}

static void leave_out(left_out* left, const tune_job* job, const tune_job* kept) {
  size_t length;
  if (left->shape != job->shape || left->kept != kept->shape) {
    tell(left);
    left->shape = job->shape;
    left->kept = kept->shape;
    left->count = 0;
    left->rows[0] = '\0';
  }
  if (++left->count > 8) return;
  length = strlen(left->rows);
  snprintf(left->rows + length, sizeof left->rows - length, "%s%lld", length > 0 ? "," : "",
           (long long)job->desc.m);
}

/* Adds a job, or replaces one of the same step that has fewer rows, or leaves the job out. */
static void place(tune_jobs* jobs, tune_job job, int32_t sms, left_out* left) {
  for (int32_t i = 0; i < jobs->count; ++i) {
    tune_job* const other = &jobs->items[i];
    if (!same_entry(&job, other, sms)) continue;
    if (job.desc.m <= other->desc.m) {
      leave_out(left, &job, other);
    } else {
      leave_out(left, other, &job);
      *other = job;
    }
    return;
  }
  jobs->items[jobs->count++] = job;
}

void jobs_leave_out(tune_jobs* jobs, int32_t sms) {
  const int32_t all = jobs->count;
  left_out left;
  memset(&left, 0, sizeof left);
  /* The jobs that are kept overwrite the array from its beginning. */
  jobs->count = 0;
  for (int32_t i = 0; i < all; ++i) place(jobs, jobs->items[i], sms, &left);
  tell(&left);
}

int jobs_make(const tune_shapes* shapes, tune_jobs* jobs) {
  size_t all = 0;
  for (int32_t i = 0; i < shapes->count; ++i) all += (size_t)shapes->items[i].rows.count;
  jobs->count = 0;
  jobs->items = malloc((all + 1) * sizeof *jobs->items);
  if (!jobs->items) {
    tune_complain("the list of shapes", "memory is exhausted");
    return TUNE_FAILED;
  }
  for (int32_t i = 0; i < shapes->count; ++i)
    for (int32_t j = 0; j < shapes->items[i].rows.count; ++j) {
      tune_job* const job = &jobs->items[jobs->count++];
      job->shape = &shapes->items[i];
      job->desc = job->shape->desc;
      job->desc.m = job->desc.min_m = job->shape->rows.m[j];
    }
  return TUNE_DONE;
}

void jobs_free(tune_jobs* jobs) {
  free(jobs->items);
  jobs->items = NULL;
  jobs->count = 0;
}
