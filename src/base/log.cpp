// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include "base/process_lock.hpp"
#include "base/status.hpp"

namespace tw {
namespace {

struct Sink {
  LogCallback callback = nullptr;
  void* user = nullptr;
  LogLevel level = LogLevel::error;
};

constinit std::atomic<int32_t> g_level{0};  // 0: nobody listens

// Function-local: at namespace scope it would be a static initialiser.
std::shared_mutex& sink_mutex() {
  static ProcessLock lock;
  return lock.mutex();
}
constinit Sink g_sink;
// A callback that logs again, or swaps the callback, must not deadlock on itself.
constinit thread_local int t_depth = 0;

}  // namespace

void log_set(LogCallback callback, void* user, LogLevel level) {
  if (t_depth > 0) return;
  // Whoever logs without a pause would keep the lock shared for ever: nobody listens meanwhile.
  g_level.store(0, std::memory_order_relaxed);
  std::unique_lock lock(sink_mutex());
  g_sink = {callback, user, level};
  g_level.store(callback ? static_cast<int32_t>(level) : 0, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) {
  return static_cast<int32_t>(level) <= g_level.load(std::memory_order_relaxed);
}

void log(LogLevel level, const char* format, ...) {
  if (!log_enabled(level) || t_depth > 0) return;
  char message[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  std::shared_lock lock(sink_mutex());
  // Another callback than the one that was asked for its level may be there by now.
  if (!g_sink.callback || level > g_sink.level) return;
  const KeptErrors kept;  // what fails inside the callback must not replace them
  ++t_depth;
  g_sink.callback(g_sink.user, static_cast<int32_t>(level), message);
  --t_depth;
}

}  // namespace tw
