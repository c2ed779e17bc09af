// SPDX-License-Identifier: Apache-2.0
#pragma once
// Logs report what no return value can carry. There is one per process and one per device; both are
// silent until the program sets a callback. Functions may be called from any thread.

#include <atomic>
#include <cstdarg>
#include <cstdint>

#include "base/process_lock.hpp"

namespace tw {

enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };
using LogCallback = void (*)(void* user, int32_t level, const char* message);

/// Trivially destructible, so that threads may use a static Log while the process exits.
class Log {
 public:
  /// `next` receives the messages while this log has no callback; nullptr: nobody does.
  explicit Log(Log* next = nullptr) : next_(next) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Installs a callback; nullptr removes it. Afterwards no other thread is inside the old
  /// callback. Does nothing if called from inside a callback.
  void set(LogCallback callback, void* user, LogLevel level);
  bool enabled(LogLevel level) const;
  [[gnu::format(printf, 3, 4)]] void write(LogLevel level, const char* format, ...);

 private:
  struct Sink {
    LogCallback callback = nullptr;
    void* user = nullptr;
    LogLevel level = LogLevel::error;
  };
  static constexpr int32_t kNoCallback = 0;
  static constexpr int32_t kChanging = -1;

  void deliver(LogLevel level, const char* message);

  std::atomic<int32_t> level_{kNoCallback};  // kNoCallback, kChanging, or the callback's level
  ForkSafeLock lock_;
  Sink sink_;
  Log* next_;
};

Log& process_log();

}  // namespace tw
