// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lock for data that a forked child keeps using. A lock that a thread of the parent holds during
// fork() stays locked in the child forever, so the child uses a new lock. The guarded data must be
// usable even if the fork interrupted a change.
//
// Trivially destructible, because threads may use a static one while the process exits. A child's
// lock is therefore never freed. May be used from any thread.

#include <sys/types.h>

#include <atomic>
#include <shared_mutex>

namespace tw {

class ForkSafeLock {
 public:
  ForkSafeLock();
  ForkSafeLock(const ForkSafeLock&) = delete;
  ForkSafeLock& operator=(const ForkSafeLock&) = delete;

  /// Returns the calling process's lock. If a child cannot allocate its own, returns the parent's.
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
