// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lock for what a child of fork() goes on using. What a thread of the parent held when it forked
// is held for ever in the child, which takes a lock of its own instead; what it guards must make
// sense at any moment, the middle of a change included.
//
// Trivially destructible, as a static that threads use until the process has ended must be: a lock
// that a child has made for itself lives as long as the child. Thread-safety: any thread.

#include <sys/types.h>

#include <atomic>
#include <shared_mutex>

namespace tw {

class ProcessLock {
 public:
  ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

  /// The calling process's own; the parent's where a child has no memory left for one.
  std::shared_mutex& mutex();

 private:
  struct Lock {
    std::shared_mutex mutex;
    pid_t process;
  };
  Lock first_;
  std::atomic<Lock*> current_{&first_};
};

}  // namespace tw
