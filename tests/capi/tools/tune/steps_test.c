/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of m that the tool works by are those of the library. */
#include "tests/capi/tools/tune/tune_harness.h"

enum { kN = 8, kK = 8 };

/* Whether a plan for m rows takes a choice of the set. */
static int takes(const setup *s, const tw_gemm_tuning *tuning, int64_t m) {
  static char text[1 << 14];
  tw_gemm_desc desc;
  tw_plan *plan = NULL;
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.m = desc.min_m = m;
  desc.n = kN;
  desc.k = kK;
  text[0] = '\0';
  if (OK(tw_gemm_plan_tuned(s->device, &desc, tuning, &plan)))
    OK(tw_plan_explain(plan, text, sizeof text, NULL));
  tw_plan_destroy(plan);
  return strstr(text, "the fastest when it was measured") != NULL;
}

static void served(void) {
  static const int64_t kMeasured[] = {1,     7,     8,     9,      64,     72,     100,    512,
                                      513,   1000,  4096,  4097,   8192,   8193,   65536,  65537,
                                      70000, 90000, 99999, 131072, 131073, 262144, 262145, 1 << 24};
  setup s = open_setup();
  tw_device_info info;
  tw_device_info_init(&info, sizeof info);
  OK(tw_device_get_info(s.device, &info));
  for (size_t i = 0; i < COUNT(kMeasured); ++i) {
    const int64_t m = kMeasured[i], first = step_served_from(m), last = step_end(m);
    tw_gemm_tuning *tuning = NULL;
    char text[256];
    snprintf(text, sizeof text,
             "tilewright gemm tuning 1\ndevice %s\nbf16 bf16 f32 rrr %d %lld %d %d "
             "gemm_host_plain 1\n",
             info.name, (int)info.sm_count, (long long)m, kN, kK);
    NEED(tw_gemm_tuning_create(&tuning));
    OK(tw_gemm_tuning_load(tuning, text));
    CHECK(first >= 1 && first <= m && m <= last);
    if (!CHECK(takes(&s, tuning, first) && takes(&s, tuning, m) && takes(&s, tuning, last) &&
               !takes(&s, tuning, last + 1) && (first == 1 || !takes(&s, tuning, first - 1))))
      printf("    measured at %lld, said to serve %lld to %lld\n", (long long)m, (long long)first,
             (long long)last);
    tw_gemm_tuning_destroy(tuning);
  }
  close_setup(&s);
}

/* The numbers that the header and --help have. */
static void stated(void) {
  EQUAL(step_served_from(8), 1);
  EQUAL(step_served_from(64), 57);
  EQUAL(step_end(64), 64);
  EQUAL(step_served_from(4096), 3585);
  EQUAL(step_served_from(4097), 3585);
  EQUAL(step_end(4097), 4160);
  EQUAL(step_end(1), 8);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(stated);
  RUN(served);
  return harness_end();
}
