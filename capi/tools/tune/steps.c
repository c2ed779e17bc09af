/* SPDX-License-Identifier: Apache-2.0 */
/* Plans choose one kernel for a whole step of m. A tuning entry serves all rows of its step and
 * some steps below it. tw_gemm_plan_tuned() documents both rules. */
#include "tune.h"

static int64_t step_size(int64_t m) {
  int64_t step = 4096;
  if (m <= 512) return 8;
  if (m <= 8192) return 64;
  if (m <= 65536) return 256;
  while (step * 32 < m) step *= 2;
  return step;
}

int64_t step_end(int64_t m) {
  const int64_t step = step_size(m);
  return (m + step - 1) / step * step;
}

int64_t step_served_from(int64_t m) {
  const int64_t top = step_end(m);
  const int64_t eighth = top / 8 > 1 ? top / 8 : 1;
  /* The steps that end at `below` or before are not served. */
  const int64_t below = top - eighth;
  return below / step_size(below) * step_size(below) + 1;
}
