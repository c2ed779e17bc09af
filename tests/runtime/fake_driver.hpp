// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fake CUDA driver: it implements every function of symbols.inc, counts the calls and can fail
// any of them. It checks what a real driver leaves undefined: that objects are used with their
// context current and released exactly once. It loads code from a fatbin as a real driver would for
// its chip (fake_images.hpp) and then has only the kernels of that code.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tw::test {

struct FakeState {
  // Settings, made by the test.
  int devices = 1;
  int compute_major = 9;
  int compute_minor = 0;
  int shared_memory = 232448;  // bytes per block
  int version = 13000;         // reported by cuDriverGetVersion
  int fail_at = 0;             // number of the call that fails, from 1; 0: none
  CUresult fail_with = CUDA_ERROR_INVALID_VALUE;
  CUresult stream_result = CUDA_SUCCESS;  // returned by synchronize and query
  CUresult load_result = CUDA_SUCCESS;
  int refused_attribute = -1;         // no function accepts it; -1: all are accepted
  bool capturing = false;             // every stream reports that it is being captured
  bool event_without_timing = false;  // elapsed-time queries find an event without timing
  int refused_update = 0;             // a CUgraphExecUpdateResult that every update gets
  std::function<void(const std::string&)> on_call;  // runs before every call

  // Observations.
  int calls = 0;
  std::vector<std::string> log;  // names of the calls
  std::vector<CUcontext> stack;  // of the single thread that tests use
  int primary = 0;               // reference count of the primary context
  std::set<CUstream> streams;
  std::set<CUevent> events;
  std::map<CUdeviceptr, size_t> memory;
  std::set<void*> host_memory;
  // The recorded calls of captures, graphs and executable graphs.
  std::map<CUstream, std::vector<std::string>> captures;
  std::map<CUgraph, std::vector<std::string>> graphs;
  std::map<CUgraphExec, std::vector<std::string>> execs;
  std::set<CUlibrary> libraries;
  // The kernels in each library that holds precompiled kernels.
  std::map<CUlibrary, const std::set<std::string>*> kernels_of;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::vector<std::string> strict_calls;  // made although a global-mode capture forbids them
  std::vector<std::string> misuse;        // unknown objects, no current context
  CUlaunchConfig launch{};
  std::pair<CUcontext, CUcontext> peers;  // of the last copy between devices: to, from
  std::vector<CUlaunchAttribute> attributes;
  std::map<int, int> function_attributes;
  // Precompiled kernels take their family's argument struct, all other kernels {8, 128} bytes.
  std::map<CUkernel, size_t> argument_bytes;

  bool clean() const {
    return stack.empty() && primary == 0 && streams.empty() && events.empty() && memory.empty() &&
           host_memory.empty() && captures.empty() && graphs.empty() && execs.empty() &&
           libraries.empty() && mode == CU_STREAM_CAPTURE_MODE_GLOBAL && misuse.empty();
  }

  /// Drops the objects of a context that can no longer be entered.
  void forget_objects() {
    streams.clear();
    events.clear();
    memory.clear();
    host_memory.clear();
    captures.clear();
    graphs.clear();
    execs.clear();
  }
};

/// The state of the installed fake driver.
FakeState& fake();

/// The fake driver's table, for tests that remove functions from it.
Driver* fake_table();

/// Whether the calling thread is inside the fake driver. Its own allocations must not be made to
/// fail, because no exception may leave a driver.
bool inside_fake_driver();

/// Installs a fresh fake driver for a scope. `version` is numbered as by cuDriverGetVersion.
class FakeDriver {
 public:
  explicit FakeDriver(int version = 13000);
  ~FakeDriver();

 private:
  Driver table_;
};

inline CUcontext fake_primary() {
  return reinterpret_cast<CUcontext>(0x100);
}
inline CUcontext fake_other_context() {
  return reinterpret_cast<CUcontext>(0x200);
}
inline CUstream fake_callers_stream() {
  return reinterpret_cast<CUstream>(0x300);
}
inline CUevent fake_callers_event() {
  return reinterpret_cast<CUevent>(0x400);
}

}  // namespace tw::test
