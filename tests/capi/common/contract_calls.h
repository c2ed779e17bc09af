/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_CONTRACT_CALLS_H
#define TILEWRIGHT_TESTS_CONTRACT_CALLS_H
/* Every function of the C API that can fail, as a call with valid arguments. contract.py generates
 * the table from the header, so that new functions are covered. */
#include "tests/capi/common/contract_samples.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONTRACT_OUTPUTS = 4 };

typedef struct {
  const char *name;
  /* Makes the call after refresh() of the samples. New handles go to made[0], made[1], ... */
  tw_status (*call)(samples *s, void **made);
  /* Releases what a call made. Also valid right after a failed call. */
  void (*undo)(samples *s, void **made);
  int gpu_only;  /* needs samples that the host device does not have */
  int external;  /* @threadsafety external: calls on one handle must not overlap */
  int of_device; /* takes a handle that becomes invalid with its device */
  int device;    /* takes the device itself, or creates one */
} contract_call;

extern const contract_call contract_calls[];
extern const int contract_call_count;

/* Returns the calling thread's failed checks since the last call. The checks of documented.h count
 * in the generated file, because harness.h is static. */
unsigned contract_call_failures(void);

#ifdef __cplusplus
}
#endif

#endif
