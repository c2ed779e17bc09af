/* SPDX-License-Identifier: Apache-2.0 */
/* tw_gemm_ candidates: listing, forcing, ranges of m, and what each kernel writes. */
#include "tests/capi/common/gemm_harness.h"

enum { kMany = 512, kWorkspaceBytes = 64 << 20 };
static tw_gemm_candidate list[kMany];

static void sized(tw_gemm_candidate *candidates, int32_t count) {
  memset(candidates, 0xa5, (size_t)count * sizeof *candidates);
  for (int32_t i = 0; i < count; ++i) tw_gemm_candidate_init(&candidates[i], sizeof candidates[i]);
}

/* If an element of the array is invalid, nothing is written, and the error names its index. */
static void bad_element(const setup *s, const tw_gemm_desc *desc, const tw_plan *plan) {
  static const uint32_t kBad[] = {0, 8, sizeof *list + 8, 4096, UINT32_MAX};
  tw_error_info info;
  tw_error_info_init(&info, sizeof info);
  for (int32_t i = 0; i < 2 * (int32_t)COUNT(kBad); ++i) {
    const int32_t at = i % 2;
    tw_gemm_candidate before[2];
    int32_t count = 77;
    sized(list, 2);
    list[at].struct_size = kBad[i / 2];
    memcpy(before, list, sizeof before);
    /* a later version's size, or no valid one */
    if (at == 0 && kBad[i / 2] > sizeof *list) continue;
    FAILS(TW_ERROR_STRUCT, "candidates", tw_gemm_candidates(s->device, desc, list, 2, &count));
    EQUAL(count, 0);
    CHECK(memcmp(before, list, sizeof before) == 0);
    OK(tw_last_error_info(&info));
    EQUAL(info.index, at);
    OK(tw_gemm_ranges(plan, NULL, 0, &count));
    if (count <= at) continue; /* the array is written only up to the number of ranges */
    FAILS(TW_ERROR_STRUCT, "candidates", tw_gemm_ranges(plan, list, 2, &count));
    EQUAL(count, 0);
    CHECK(memcmp(before, list, sizeof before) == 0);
  }
}

/* Each candidate is listed once, can be forced, and computes the product. */
static void candidates(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_plan *plan = NULL;
  tw_plan_info info;
  int32_t count = 0, again = 0;
  uint64_t workspace = 0;
  OK(tw_malloc(s.device, kWorkspaceBytes, &workspace));
  OK(tw_gemm_candidates(s.device, &desc, NULL, 0, &count));
  CHECK(count >= 2 && count <= kMany); /* with tensor maps and without */
  sized(list, kMany);
  OK(tw_gemm_candidates(s.device, &desc, list, kMany, &again));
  EQUAL(again, count);
  for (int32_t i = 0; i < count; ++i) {
    const tw_gemm_candidate *const c = &list[i];
    EQUAL(c->struct_size, sizeof *c);
    CHECK(strncmp(c->text, c->kernel, strlen(c->kernel)) == 0);
    CHECK(c->split >= 1 && c->split <= 8);
    CHECK(c->split == 1 || c->text[strlen(c->kernel)] == '/');
    CHECK(c->microseconds > 0 && c->waves > 0);
    CHECK(i == 0 || c->microseconds >= list[i - 1].microseconds);
    for (int32_t j = 0; j < i; ++j) CHECK(strcmp(c->text, list[j].text) != 0);
    EQUAL(c->m_first, kM);
    EQUAL(c->m_last, kM);
    if (!OK(tw_gemm_plan_candidate(s.device, &desc, c->text, &plan))) continue;
    tw_plan_info_init(&info, sizeof info);
    OK(tw_plan_get_info(plan, &info));
    TEXT(info.kernel, c->kernel);
    /* A forced split-K or stream-K kernel has no fallback: it needs its workspace. */
    args.workspace = workspace;
    args.workspace_bytes = info.workspace_bytes;
    if (!CHECK(info.workspace_bytes <= kWorkspaceBytes)) continue;
    for (args.m = kM; args.m > 0; args.m -= 23) {
      OK(tw_memset(s.stream, args.d, 0, sizeof d));
      OK(tw_gemm_run(plan, s.stream, &args));
      has_product(&s, &args, (int)args.m);
    }
    tw_plan_destroy(plan);
  }
  /* The plan uses the first candidate. */
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  tw_plan_info_init(&info, sizeof info);
  OK(tw_plan_get_info(plan, &info));
  TEXT(info.kernel, list[0].kernel);
  tw_plan_destroy(plan);

  sized(list, 2);
  list[1].split = 0xa5a5a5a5u;
  OK(tw_gemm_candidates(s.device, &desc, list, 1, NULL));
  CHECK(list[1].split == 0xa5a5a5a5u); /* beyond the capacity */
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity",
        tw_gemm_candidates(s.device, &desc, list, -1, &count));
  EQUAL(count, 0);
  NULL_FAILS("candidates", tw_gemm_candidates(s.device, &desc, NULL, 1, &count));
  list[0].struct_size = 8;
  FAILS(TW_ERROR_STRUCT, "candidates", tw_gemm_candidates(s.device, &desc, list, 1, NULL));
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  bad_element(&s, &desc, plan);
  tw_plan_destroy(plan);
  desc.lda = 1;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "lda", tw_gemm_candidates(s.device, &desc, NULL, 0, &count));
  OK(tw_free(s.device, workspace));
  close_setup(&s);
}

static void forcing(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_plan *plan = (tw_plan *)&plan;
  const char *const foreign = harness.kind == TW_DEVICE_CUDA ? "gemm_host_128x128x64"
                                                             : "gemm_bf16_bf16_rc_128x256_2x1_coop";
  int32_t count = 0;
  FAILS(TW_ERROR_NOT_FOUND, "candidate", tw_gemm_plan_candidate(s.device, &desc, "", &plan));
  CHECK(plan == NULL);
  FAILS(TW_ERROR_NOT_FOUND, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, "gemm_of_nobody/2", &plan));
  FAILS(TW_ERROR_PARSE, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, "gemm_bf16_bf16_rc_128x128_1x1_split/9", &plan));
  FAILS(TW_ERROR_UNSUPPORTED, "candidate", tw_gemm_plan_candidate(s.device, &desc, foreign, &plan));
  CHECK(strstr(tw_last_error(), "does not run on") != NULL);
  CHECK(plan == NULL);
  /* The first candidate uses tensor maps, and refuses addresses that maps cannot have. */
  sized(list, 1);
  NEED(tw_gemm_candidates(s.device, &desc, list, 1, &count));
  NEED(tw_gemm_plan_candidate(s.device, &desc, list[0].text, &plan));
  args.a += 2;
  FAILS(TW_ERROR_MISALIGNED, "a", tw_gemm_run(plan, s.stream, &args));
  args.a -= 2;
  args.b += 8;
  FAILS(TW_ERROR_MISALIGNED, "b", tw_gemm_run(plan, s.stream, &args));
  tw_plan_destroy(plan);
  desc.lda = kLda + 1; /* no map can have this pitch */
  FAILS(TW_ERROR_UNSUPPORTED, "candidate",
        tw_gemm_plan_candidate(s.device, &desc, list[0].text, &plan));
  CHECK(strstr(tw_last_error(), "lda is 209") != NULL);
  close_setup(&s);
}

/* Checks a D that uses kOdd of its kLdd columns, poisoned before the run. Counts wrong elements,
 * elements written from column kOdd to the end of its 16 bytes, and elements written beyond. */
enum { kOdd = 85 };
typedef struct {
  int wrong, behind, beyond;
} written;

static written look(const setup *s, uint64_t address) {
  written out = {0, 0, 0};
  download(s, d, address, sizeof d);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kLdd; ++j) {
      const float got = d[i * kLdd + j];
      uint32_t bits;
      float sum = 0;
      memcpy(&bits, &got, 4);
      if (j >= kOdd) {
        *(j < (kOdd + 3) / 4 * 4 ? &out.behind : &out.beyond) += bits != 0x55555555u;
        continue;
      }
      for (int k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(k, j);
      out.wrong += got != sum;
    }
  return out;
}

/* A candidate may write the padding behind N only if it is free, up to the end of 16 bytes. */
static void padding(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  int32_t count = 0;
  desc.n = kOdd;
  sized(list, kMany);
  NEED(tw_gemm_candidates(s.device, &desc, list, kMany, &count));
  for (int32_t i = 0; i < 2 * count; ++i) {
    tw_plan *plan = NULL;
    written seen;
    desc.flags = i % 2 ? TW_GEMM_D_PADDING_WRITABLE : 0;
    NEED(tw_gemm_plan_candidate(s.device, &desc, list[i / 2].text, &plan));
    OK(tw_memset(s.stream, args.d, 0x55, sizeof d));
    OK(tw_gemm_run(plan, s.stream, &args));
    seen = look(&s, args.d);
    if (!CHECK(seen.wrong == 0 && seen.beyond == 0 && (desc.flags || seen.behind == 0)))
      printf("    %s: %d wrong, %d behind, %d beyond\n", list[i / 2].text, seen.wrong, seen.behind,
             seen.beyond);
    if (desc.flags) { /* the last line's padding belongs to D, too */
      const uint64_t kept = args.b;
      args.b = args.d + ((uint64_t)(kM - 1) * kLdd + kOdd) * 4 + 12;
      if (i == 1) FAILS(TW_ERROR_OVERLAP, "d", tw_gemm_run(plan, s.stream, &args));
      args.b = kept;
    }
    tw_plan_destroy(plan);
  }
  close_setup(&s);
}

/* A plan's ranges cover every m that it serves. */
static void ranges(void) {
  setup s = open_setup();
  tw_gemm_desc desc = gemm_desc();
  tw_gemm_args args = upload_all(&s);
  tw_copy_desc copy_desc;
  tw_plan *plan = NULL, *copy = NULL;
  int32_t count = 0;
  desc.min_m = 9;
  NEED(tw_gemm_plan(s.device, &desc, &plan));
  sized(list, kMany);
  NEED(tw_gemm_ranges(plan, list, kMany, &count));
  CHECK(count >= 1 && count <= kMany);
  EQUAL(list[0].m_first, 9);
  EQUAL(list[count - 1].m_last, kM);
  for (int32_t i = 1; i < count; ++i) EQUAL(list[i].m_first, list[i - 1].m_last + 1);
  args.m = 8;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "m", tw_gemm_run(plan, s.stream, &args));
  args.m = 0;
  OK(tw_gemm_run(plan, s.stream, &args));
  args.m = 9;
  OK(tw_memset(s.stream, args.d, 0, sizeof d));
  OK(tw_gemm_run(plan, s.stream, &args));
  has_product(&s, &args, 9);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "capacity", tw_gemm_ranges(plan, list, -1, &count));
  NULL_FAILS("candidates", tw_gemm_ranges(plan, NULL, 1, &count));
  NULL_FAILS("plan", tw_gemm_ranges(NULL, list, 1, &count));
  EQUAL(count, 0);
  OK(tw_copy_desc_init(&copy_desc, sizeof copy_desc));
  copy_desc.dtype = TW_DTYPE_U8;
  copy_desc.rank = 1;
  copy_desc.shape[0] = 64;
  copy_desc.src_stride[0] = copy_desc.dst_stride[0] = 1;
  NEED(tw_copy_plan(s.device, &copy_desc, &copy));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "plan", tw_gemm_ranges(copy, NULL, 0, &count));
  tw_plan_destroy(copy);
  tw_plan_destroy(plan);
  close_setup(&s);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(candidates);
  RUN(forcing);
  RUN(padding);
  RUN(ranges);
  return harness_end();
}
