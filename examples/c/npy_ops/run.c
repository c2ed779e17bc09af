/* SPDX-License-Identifier: Apache-2.0 */
/* From a description to the result: all calls of the library. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "job.h"

struct session {
  tw_device* device;
  tw_device_info info;
  char why[512]; /* why this device was chosen */
  tw_stream* stream;
  tw_event* start;
  tw_event* stop;
  tw_plan* plan;
  tw_plan_info plan_info;
  uint64_t input[MAX_INPUTS];
  uint64_t result;
  float best_ms;
};

/* Reports the library's error in one line. */
static int library_failed(const char* doing) {
  tw_error_info info;
  tw_error_info_init(&info, sizeof info);
  tw_last_error_info(&info);
  return failed("%s: %s: %s", doing, tw_status_name(info.status), tw_last_error());
}

/* `auto` falls back to the host device only if there is no GPU that the library can use. A GPU that
 * fails is an error. */
static int means_no_gpu(tw_status status) {
  return status == TW_ERROR_NO_DRIVER || status == TW_ERROR_DRIVER_TOO_OLD ||
         status == TW_ERROR_NO_DEVICE || status == TW_ERROR_UNSUPPORTED_DEVICE ||
         status == TW_ERROR_NOT_BUILT;
}

static int open_device(struct session* s, enum device_choice choice) {
  tw_device_kind kind = choice == DEVICE_HOST ? TW_DEVICE_HOST : TW_DEVICE_CUDA;
  tw_status status = tw_device_create(kind, 0, &s->device);
  snprintf(s->why, sizeof(s->why), "%s",
           choice == DEVICE_AUTO ? "auto: there is a GPU" : "as asked");
  if (choice == DEVICE_AUTO && means_no_gpu(status)) {
    snprintf(s->why, sizeof(s->why), "auto: no GPU: %s", tw_last_error());
    status = tw_device_create(TW_DEVICE_HOST, 0, &s->device);
  }
  if (status != TW_OK) return library_failed("opening the device");
  tw_device_info_init(&s->info, sizeof s->info);
  if (tw_device_get_info(s->device, &s->info) != TW_OK ||
      tw_stream_create(s->device, &s->stream) != TW_OK ||
      tw_event_create(s->device, &s->start) != TW_OK ||
      tw_event_create(s->device, &s->stop) != TW_OK) {
    return library_failed("opening the device");
  }
  return 0;
}

static int upload(struct session* s, const struct job* job) {
  for (int i = 0; i < job->options.inputs; i++) {
    const struct npy* array = &job->input[i];
    if (tw_malloc(s->device, npy_bytes(array), &s->input[i]) != TW_OK ||
        tw_memcpy_to_device(s->stream, s->input[i], array->data, npy_bytes(array)) != TW_OK) {
      return library_failed(array->path);
    }
  }
  if (job->options.op == TW_OP_SCATTER) {
    s->result = s->input[0];
  } else if (tw_malloc(s->device, npy_bytes(&job->result), &s->result) != TW_OK) {
    return library_failed("the result");
  }
  return 0;
}

static tw_status make_plan(struct session* s, const struct job* job) {
  switch (job->options.op) {
    case TW_OP_GEMM:
      return tw_gemm_plan(s->device, &job->desc.gemm, &s->plan);
    case TW_OP_GATHER:
      return tw_gather_plan(s->device, &job->desc.rows, &s->plan);
    case TW_OP_SCATTER:
      return tw_scatter_plan(s->device, &job->desc.rows, &s->plan);
    default:
      return tw_copy_plan(s->device, &job->desc.copy, &s->plan);
  }
}

static tw_status enqueue(struct session* s, const struct job* job) {
  if (job->options.op == TW_OP_GEMM) {
    tw_gemm_args args;
    tw_gemm_args_init(&args, sizeof args);
    args.a = s->input[0];
    args.b = s->input[1];
    args.d = s->result;
    return tw_gemm_run(s->plan, s->stream, &args);
  }
  if (job->options.op == TW_OP_COPY) {
    tw_copy_args args;
    tw_copy_args_init(&args, sizeof args);
    args.src = s->input[0] + job->copy_offset;
    args.dst = s->result;
    return tw_copy_run(s->plan, s->stream, &args);
  }
  tw_rows_args args;
  tw_rows_args_init(&args, sizeof args);
  args.table = s->input[0];
  args.index = s->input[1];
  if (job->options.op == TW_OP_GATHER) {
    args.packed = s->result;
    return tw_gather_run(s->plan, s->stream, &args);
  }
  args.packed = s->input[2];
  return tw_scatter_run(s->plan, s->stream, &args);
}

/* Repeated runs are valid, because every operation here gives the same result each time. */
static int run_plan(struct session* s, const struct job* job) {
  tw_plan_info_init(&s->plan_info, sizeof s->plan_info);
  if (make_plan(s, job) != TW_OK || tw_plan_get_info(s->plan, &s->plan_info) != TW_OK) {
    return library_failed("planning");
  }
  for (int i = 0; i < job->options.repeat; i++) {
    float ms = 0;
    if (tw_event_record(s->start, s->stream) != TW_OK || enqueue(s, job) != TW_OK ||
        tw_event_record(s->stop, s->stream) != TW_OK || tw_event_synchronize(s->stop) != TW_OK ||
        tw_event_elapsed(s->start, s->stop, &ms) != TW_OK) {
      return library_failed("running");
    }
    if (i == 0 || ms < s->best_ms) s->best_ms = ms;
  }
  return 0;
}

static int download(struct session* s, const struct npy* result) {
  if (tw_memcpy_to_host(s->stream, result->data, s->result, npy_bytes(result)) != TW_OK ||
      tw_stream_synchronize(s->stream) != TW_OK) {
    return library_failed("fetching the result");
  }
  return 0;
}

static void report(const struct session* s, const struct job* job, const struct npy* result) {
  static const char* const kNames[] = {"", "copy", "prefetch", "gather", "scatter", "gemm"};
  char shape[64];
  const tw_plan_info* plan = &s->plan_info;
  const double seconds = s->best_ms / 1e3;
  printf("%-7s %s -> %s %s %s\n", kNames[job->options.op], job->options.input[0], result->path,
         npy_shape_text(result, shape), result->type->descr);
  printf("device  %s: %s (%s)\n", s->info.kind == TW_DEVICE_CUDA ? "cuda" : "host", s->info.name,
         s->why);
  printf("kernel  %s, grid %" PRIu32 " x %" PRIu32 " x %" PRIu32 "\n", plan->kernel, plan->grid[0],
         plan->grid[1], plan->grid[2]);
  printf("tile    %" PRIu32 " x %" PRIu32 " x %" PRIu32 ", %" PRIu32 " stages\n", plan->tile[0],
         plan->tile[1], plan->tile[2], plan->stages);
  printf("bytes   %" PRIu64 " read, %" PRIu64 " written; boxes %" PRIu64 " loaded, %" PRIu64
         " stored\n",
         plan->bytes_read, plan->bytes_written, plan->boxes_loaded, plan->boxes_stored);
  printf("time    %.3f ms", (double)s->best_ms);
  if (seconds > 0 && plan->flops > 0) printf(", %.1f GFLOP/s", (double)plan->flops / seconds / 1e9);
  if (seconds > 0) {
    printf(", %.2f GB/s", (double)(plan->bytes_read + plan->bytes_written) / seconds / 1e9);
  }
  if (job->options.repeat > 1) printf(" (best of %d)", job->options.repeat);
  printf("\n");
}

static int run_in_session(struct session* s, struct job* job) {
  int code = open_device(s, job->options.device);
  if (code == 0) code = upload(s, job);
  if (code == 0) code = run_plan(s, job);
  if (code != 0) return code;
  struct npy* result = job->options.op == TW_OP_SCATTER ? &job->input[0] : &job->result;
  code = download(s, result);
  result->path = job->options.output;
  if (code == 0) code = npy_write(result);
  if (code == 0) report(s, job, result);
  return code;
}

int job_run(struct job* job) {
  struct session session;
  memset(&session, 0, sizeof(session));
  const int code = run_in_session(&session, job);
  tw_plan_destroy(session.plan);
  tw_event_destroy(session.start);
  tw_event_destroy(session.stop);
  tw_stream_destroy(session.stream);
  tw_device_destroy(session.device); /* frees the memory, too */
  return code;
}
