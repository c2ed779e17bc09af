/* SPDX-License-Identifier: Apache-2.0 */
/* Operands: runs of every kind of shape take the addresses that the tool gives them. */
#include "tests/capi/tools/tune/tune_harness.h"

static tune_job job_of(const tune_shapes *shapes, int32_t i) {
  tune_job job;
  job.shape = &shapes->items[i];
  job.desc = job.shape->desc;
  job.desc.min_m = job.desc.m;
  return job;
}

static void runs(const setup *s, const tune_job *job, const tw_gemm_args *args) {
  tw_gemm_args own = *args;
  tw_gemm_candidate list[64];
  int32_t count = 0;
  for (size_t i = 0; i < COUNT(list); ++i) tw_gemm_candidate_init(&list[i], sizeof list[i]);
  NEED(tw_gemm_candidates(s->device, &job->desc, list, COUNT(list), &count));
  CHECK(count >= 1);
  for (int32_t i = 0; i < count && i < (int32_t)COUNT(list); ++i) {
    tw_plan *plan = NULL;
    NEED(tw_gemm_plan_candidate(s->device, &job->desc, list[i].text, &plan));
    OK(tw_gemm_run(plan, s->stream, &own));
    OK(tw_stream_synchronize(s->stream));
    tw_plan_destroy(plan);
  }
}

static void operands(void) {
  static const char *const kLines[] = {
      "m=64 n=48 k=80",
      "m=8 n=48 k=80 orders=ccc types=f16->f32", /* a smaller one after a larger one */
      "m=100 n=49 k=81 staging_copy",
      "m=33 n=49 k=81 orders=crr staging_copy batch=3 batch_invariant",
      "m=24 n=64 k=64 lda=72 ldb=80 ldd=96 d_padding_writable",
      "m=24 n=64 k=64 batch=5 programmatic b_constant a_constant",
      "m=24 n=63 k=64 batch=5 batch_pointers types=bf16->f32",
      "m=24 n=64 k=64 bias=row bias_type=f32 d_factor=row amax",
      "m=24 n=64 k=64 bias=column activation=silu gate=halves d_factor=column",
      "m=24 n=64 k=64 activation=gelu gate=interleaved d_factor=tensor",
      "m=24 n=64 k=64 device_m device_scalars",
      "m=24 n=130 k=300 types=f8e4m3,f8e5m2->bf16 a_scale=1x128 b_scale=128x128 scale_orders=cc "
      "lda=304 ldb=304",
      "m=24 n=256 k=160 types=f8e5m2,f8e4m3->f8e4m3 a_scale=row b_scale=row batch=3 gate=halves "
      "d_quantize=1x128 scale_orders=rrc",
      "m=24 n=64 k=160 types=f8e4m3->f8e4m3 a_scale=1x128 b_scale=1x128 d_factor=tensor amax "
      "bias=column batch=2 batch_pointers",
      "m=24 n=64 k=160 types=f8e4m3->f16 a_scale=tensor b_scale=tensor fast_accumulate",
      "m=24 n=64 k=160 types=i8->i8 a_scale=row b_scale=row",
      "m=24 n=64 k=161 types=i8->i32 staging_copy",
      "m=24 n=64 k=160 types=tf32->f32 orders=crc",
      NULL};
  setup s = open_setup();
  tune_shapes shapes = shapes_of(kLines);
  tune_memory memory;
  EQUAL(memory_open(&memory, s.device, s.stream, 4096), TUNE_DONE);
  CHECK(memory.flush != 0 && memory.flush_bytes == 4096);
  for (int32_t i = 0; i < shapes.count; ++i) {
    const tune_job job = job_of(&shapes, i);
    tw_gemm_args args;
    uint64_t bytes = 0;
    OK(memory_needed(s.device, &job, &bytes));
    if (!CHECK(memory_for(&memory, &job, &args) == TUNE_DONE)) continue;
    CHECK(bytes <= memory.bytes);
    printf("%s\n", kLines[i]);
    runs(&s, &job, &args);
  }
  memory_close(&memory);
  CHECK(memory.block == 0);
  shapes_free(&shapes);
  close_setup(&s);
}

/* Numbers that are none would make a product of nothing but NaN, which a chip may do otherwise. */
static void numbers(void) {
  static const struct {
    const char *line;
    float most; /* of the product of two elements */
  } kProducts[] = {{"m=64 n=64 k=256 types=bf16->f32", 1},
                   {"m=64 n=64 k=256 types=tf32->f32", 1},
                   {"m=64 n=64 k=256 types=f8e4m3->f32 a_scale=1x128 b_scale=128x128", 3.6f},
                   {"m=64 n=64 k=256 types=f8e4m3,f8e5m2->f32 a_scale=row b_scale=row", 3.6f},
                   {"m=64 n=64 k=256 types=i8->f32", 6400}};
  static float d[64 * 64];
  setup s = open_setup();
  tune_shapes shapes = {NULL, 0};
  tune_memory memory;
  EQUAL(memory_open(&memory, s.device, s.stream, 0), TUNE_DONE);
  for (int32_t p = 0; p < (int32_t)COUNT(kProducts); ++p) {
    const float most = 256 * kProducts[p].most;
    tune_job job;
    tw_gemm_args args;
    int finite = 1, differ = 0;
    EQUAL(shapes_add(&shapes, "here", kProducts[p].line), TUNE_DONE);
    job = job_of(&shapes, p);
    EQUAL(memory_for(&memory, &job, &args), TUNE_DONE);
    runs(&s, &job, &args);
    download(&s, d, args.d, sizeof d);
    for (size_t i = 0; i < COUNT(d); ++i) {
      finite &= d[i] > -most && d[i] < most;
      differ += d[i] != d[0];
    }
    CHECK(finite);
    if (!CHECK(differ > 3000)) printf("    %d differ: %s\n", differ, kProducts[p].line);
  }
  memory_close(&memory);
  shapes_free(&shapes);
  close_setup(&s);
}

static void too_large(void) {
  static const char *const kLines[] = {
      "m=1000000 n=1000000 k=1000000",
      "m=4194303 n=1048575 k=8 lda=1099511627776 ldb=1099511627776", "m=16 n=16 k=16", NULL};
  setup s = open_setup();
  tune_shapes shapes = shapes_of(kLines);
  tune_memory memory;
  tw_gemm_args args;
  said();
  EQUAL(memory_open(&memory, s.device, s.stream, 4096), TUNE_DONE);
  for (int32_t i = 0; i < 2; ++i) {
    const tune_job job = job_of(&shapes, i);
    char needed[64];
    const char *words;
    uint64_t bytes = 0;
    OK(memory_needed(s.device, &job, &bytes));
    EQUAL(memory_for(&memory, &job, &args), TUNE_INCOMPLETE);
    words = said();
    snprintf(needed, sizeof needed, "need %s%llu bytes", bytes == UINT64_MAX ? "more than " : "",
             (unsigned long long)(bytes == UINT64_MAX ? INT64_MAX : bytes));
    if (!CHECK(strstr(words, needed) && strstr(words, " are free beside what is read between")))
      printf("    %s is not in %s\n", needed, words);
    CHECK(strncmp(words, "tilewright-tune: line ", 22) == 0);
  }
  /* The next one finds memory again. */
  const tune_job job = job_of(&shapes, 2);
  EQUAL(memory_for(&memory, &job, &args), TUNE_DONE);
  runs(&s, &job, &args);
  memory_close(&memory);
  EQUAL(memory_open(&memory, s.device, s.stream, UINT64_C(1) << 50), TUNE_FAILED);
  SAYS("--flush: 1125899906842624 bytes of device memory are to be read between runs, and ");
  memory_close(&memory);
  shapes_free(&shapes);
  close_setup(&s);
}

/* What is said to be free can be had. A host that has it would have to give it. */
static void free_bytes(void) {
  setup s = open_setup();
  tune_memory memory;
  uint64_t bytes, address = 0;
  EQUAL(memory_open(&memory, s.device, s.stream, 0), TUNE_DONE);
  bytes = memory_free(&memory, UINT64_C(1) << 50);
  CHECK(bytes > 0 && bytes < UINT64_C(1) << 50);
  EQUAL(memory_free(&memory, 5 << 20), 5 << 20);
  if (harness.kind == TW_DEVICE_CUDA) OK(tw_malloc(s.device, bytes, &address));
  OK(tw_free(s.device, address));
  memory_close(&memory);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(operands);
  RUN(numbers);
  RUN(too_large);
  RUN(free_bytes);
  return harness_end();
}
