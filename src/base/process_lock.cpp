// SPDX-License-Identifier: Apache-2.0
#include "base/process_lock.hpp"

#include <unistd.h>

#include <new>

namespace tw {

ForkSafeLock::ForkSafeLock() {
  first_.process = getpid();
}

std::shared_mutex& ForkSafeLock::mutex() {
  const pid_t process = getpid();
  Lock* lock = current_.load(std::memory_order_acquire);
  if (lock->process == process) return lock->mutex;
  auto* own = new (std::nothrow) Lock;
  if (!own) return lock->mutex;
  own->process = process;
  if (current_.compare_exchange_strong(lock, own)) return own->mutex;
  delete own;
  return lock->mutex;
}

}  // namespace tw
