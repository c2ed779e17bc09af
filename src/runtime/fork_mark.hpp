// SPDX-License-Identifier: Apache-2.0
#pragma once
// Knows whether the process has forked since it was made, without a system call: every entry point
// asks, and getpid() costs more than all the rest of a run's checks.
//
// The mark is a byte in a page that the kernel clears in a child (Linux 4.14). Where it cannot be
// had, getpid() it is. Thread-safety: forked() may be called from any thread.

#include <cstdint>

namespace tw {

class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  bool forked() const;
  /// The process that made the mark.
  int32_t process() const { return process_; }

 private:
  const char* page_ = nullptr;
  int32_t process_;
};

}  // namespace tw
