// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUDA driver made of counters: every function of symbols.inc, enough of a GPU to open a device,
// and the means to fail any call. It checks what a real driver leaves undefined: that objects are
// used while their context is current, and given back once. Of a fatbin it takes what a real one
// would take for its chip (fake_images.hpp), and has the kernels of that alone.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tw::test {

struct FakeState {
  // What it does.
  int devices = 1;
  int compute_major = 9;
  int compute_minor = 0;
  int shared_memory = 232448;  // of a block
  int version = 13000;         // as cuDriverGetVersion says
  int fail_at = 0;             // the number of the call that fails, from 1; 0: none
  CUresult fail_with = CUDA_ERROR_INVALID_VALUE;
  CUresult stream_result = CUDA_SUCCESS;  // of synchronising and querying
  CUresult load_result = CUDA_SUCCESS;
  int refused_attribute = -1;         // that no function takes; -1: it takes all
  bool capturing = false;             // every stream says that it is captured
  bool event_without_timing = false;  // of those that are timed
  int refused_update = 0;             // a CUgraphExecUpdateResult that every update gets
  std::function<void(const std::string&)> on_call;  // told of every call before it does anything

  // What happened.
  int calls = 0;
  std::vector<std::string> log;  // names of the calls
  std::vector<CUcontext> stack;  // of the one thread that tests use
  int primary = 0;               // retains of the primary context
  std::set<CUstream> streams;
  std::set<CUevent> events;
  std::map<CUdeviceptr, size_t> memory;
  std::set<void*> host_memory;
  // Of captured streams, graphs and those instantiated: the names of the calls.
  std::map<CUstream, std::vector<std::string>> captures;
  std::map<CUgraph, std::vector<std::string>> graphs;
  std::map<CUgraphExec, std::vector<std::string>> execs;
  std::set<CUlibrary> libraries;
  // Of libraries that hold kernels of the table: which.
  std::map<CUlibrary, const std::set<std::string>*> kernels_of;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::vector<std::string> strict_calls;  // forbidden under a global capture, made in that mode
  std::vector<std::string> misuse;        // objects that are not there, no current context
  CUlaunchConfig launch{};
  std::pair<CUcontext, CUcontext> peers;  // of the last copy between devices: to, from
  std::vector<CUlaunchAttribute> attributes;
  std::map<int, int> function_attributes;
  // Kernels of the library's own take their family's argument struct, all others {8, 128} bytes.
  std::map<CUkernel, size_t> argument_bytes;

  bool clean() const {
    return stack.empty() && primary == 0 && streams.empty() && events.empty() && memory.empty() &&
           host_memory.empty() && captures.empty() && graphs.empty() && execs.empty() &&
           libraries.empty() && mode == CU_STREAM_CAPTURE_MODE_GLOBAL && misuse.empty();
  }

  /// What a context has in it that cannot be entered any more.
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

/// The state of the fake driver that is installed.
FakeState& fake();

/// Its table, for tests of what a driver lacks.
Driver* fake_table();

/// Whether the calling thread is inside the fake driver, whose own allocations must not be made to
/// fail: no exception may come out of a driver.
bool inside_fake_driver();

/// Installs a fresh fake driver for a scope, of a version as cuDriverGetVersion numbers it.
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
