/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_CONTRACT_CALLS_H
#define TILEWRIGHT_TESTS_CONTRACT_CALLS_H
/* Every function of the C API that can fail, as a call with right arguments. contract.py writes the
 * table from the header, so that a function that is added tomorrow is in it. */
#include "tests/capi/common/contract_samples.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONTRACT_OUTPUTS = 4 };

typedef struct {
  const char *name;
  /* Calls it with samples that refresh() has seen; handles go to made[0], made[1], ... */
  tw_status (*call)(samples *s, void **made);
  /* Gives back what a call has made; right after a failed one too, where there is nothing. */
  void (*undo)(samples *s, void **made);
  int gpu_only;  /* wants samples that the host device has none of */
  int external;  /* its @threadsafety: calls on one handle must not overlap */
  int of_device; /* takes a handle that dies with its device */
  int device;    /* takes the device itself, or makes one */
} contract_call;

extern const contract_call contract_calls[];
extern const int contract_call_count;

/* How many checks of the calling thread's calls have failed since it was last asked: what
 * documented.h looks at is counted in the table's own file. */
unsigned contract_call_failures(void);

#ifdef __cplusplus
}
#endif

#endif
