// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <cstdio>
#include <mutex>
#include <shared_mutex>

#include "base/status.hpp"

namespace tw {
namespace {

// Nonzero inside a callback: a callback that logs or sets a callback must not deadlock.
constinit thread_local int t_depth = 0;

}  // namespace

void Log::set(LogCallback callback, void* user, LogLevel level) {
  if (t_depth > 0) return;
  // Drop all messages while the callback changes: threads that log all the time could otherwise
  // keep the shared lock and starve this one.
  level_.store(kChanging, std::memory_order_relaxed);
  std::unique_lock lock(lock_.mutex());
  sink_ = {callback, user, level};
  level_.store(callback ? static_cast<int32_t>(level) : kNoCallback, std::memory_order_relaxed);
}

bool Log::enabled(LogLevel level) const {
  const int32_t maximum = level_.load(std::memory_order_relaxed);
  if (maximum == kNoCallback) return next_ && next_->enabled(level);
  return static_cast<int32_t>(level) <= maximum;
}

void Log::write(LogLevel level, const char* format, ...) {
  if (t_depth > 0 || !enabled(level)) return;
  char message[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  deliver(level, message);
}

void Log::deliver(LogLevel level, const char* message) {
  {
    std::shared_lock lock(lock_.mutex());
    if (sink_.callback) {
      // The callback may have been replaced since enabled() looked at its level.
      if (level > sink_.level) return;
      const RestoreErrors
          kept;  // a failure inside the callback must not replace the caller's error
      ++t_depth;
      sink_.callback(sink_.user, static_cast<int32_t>(level), message);
      --t_depth;
      return;
    }
  }
  if (next_ && next_->enabled(level)) next_->deliver(level, message);
}

Log& process_log() {
  // Function-local: a Log has a ForkSafeLock, which is not constexpr. As a global it would need a
  // static initializer, and the library has none.
  static Log log;
  return log;
}

}  // namespace tw
