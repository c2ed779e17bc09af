// SPDX-License-Identifier: Apache-2.0
#pragma once
// The optional log callback: the library's one piece of process-wide state, and the only way in
// which it ever speaks besides returned values. Safe from any thread.

#include <cstdint>

namespace tw {

enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };
using LogCallback = void (*)(void* user, int32_t level, const char* message);

/// Installs the callback (nullptr removes it). When it returns, no other thread is inside the old
/// callback any more.
void log_set(LogCallback callback, void* user, LogLevel level);
bool log_enabled(LogLevel level);
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);

}  // namespace tw
