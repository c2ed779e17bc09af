// SPDX-License-Identifier: Apache-2.0
// Calls every function of the C API with valid arguments while its first, second, ... host
// allocation fails. The call must return TW_ERROR_OUT_OF_MEMORY with a message, set output handles
// to NULL and leak nothing. The same call must then succeed on the same handles. contract.py
// generates the table of functions.
#include <chrono>
#include <thread>

#include "tests/capi/common/contract_calls.h"
#include "tests/capi/common/failing_allocator.hpp"

namespace {

bool nothing_made(void *const *made) {
  for (int i = 0; i < CONTRACT_OUTPUTS; ++i)
    if (made[i]) return false;
  return true;
}

// Waits until no more than `kept` allocations remain beyond `before`. A device keeps `kept` of them
// until its own end; a stream's thread frees its own later.
void settles(int64_t before, int64_t kept) {
  for (int i = 0; i < 500 && g_live > before + kept; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(g_live <= before + kept);
}

/// Undoes a call while every allocation fails: undoing must not allocate.
void undo(const contract_call &function, samples *s, void **made) {
  const bool had_failed = g_failed.exchange(false);
  g_fail_at = 1;
  function.undo(s, made);
  g_fail_at = 0;
  CHECK(!g_failed);
  g_failed = had_failed;
}

/// Repeats the call until no allocation is left to fail; returns how many failed.
int every_allocation(samples *s, const contract_call &function) {
  void *made[CONTRACT_OUTPUTS] = {};
  refresh(s);
  const tw_status wanted = function.call(s, made);
  function.undo(s, made);
  for (int k = 1; k < 1000; ++k) {
    refresh(s);
    for (void *&one : made) one = nullptr;
    OK(tw_stream_synchronize(s->stream));
    const int64_t before = g_live;
    g_failed = false;
    poison_();
    g_fail_at = k;
    const tw_status status = function.call(s, made);
    g_fail_at = 0;
    if (status == TW_ERROR_OUT_OF_MEMORY) {
      CHECK(tw_last_error()[0] != '\0' && !poisoned_());
      CHECK(nothing_made(made));
    } else {
      EQUAL(status, wanted);  // an allocation that the call can do without
    }
    // Other outputs than handles are cleared, so that undo finds nothing after a failure.
    undo(function, s, made);
    OK(tw_stream_synchronize(s->stream));
    // A device keeps its list of streams until it creates the next stream.
    settles(before, strcmp(function.name, "tw_stream_create") == 0 ? 3 : 0);
    if (!g_failed) return k - 1;
  }
  const bool comes_to_an_end = false;
  CHECK(comes_to_an_end);
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  harness_start(argc, argv);
  samples s;
  open_samples(&s);
  fill_destroyed_handles(&s);
  close_samples(&s);
  const int64_t before = g_live;
  open_samples(&s);
  int functions = 0, failures = 0;
  for (int i = 0; i < contract_call_count; ++i) {
    const contract_call &function = contract_calls[i];
    if (function.gpu_only) continue;
    harness.test = function.name;
    ++functions;
    failures += every_allocation(&s, function);
  }
  harness.test = "destroy_samples";
  OK(tw_stream_synchronize(s.stream));
  g_failed = false;
  g_fail_at = 1;
  destroy_samples(&s);
  g_fail_at = 0;
  CHECK(!g_failed);
  settles(before, 0);
  EQUAL(contract_call_failures(), 0);
  std::printf("%d functions, %d allocations failed\n", functions, failures);
  // The table is complete, and allocations were made to fail.
  CHECK(functions > 150 && failures > functions / 2);
  return harness_end();
}
