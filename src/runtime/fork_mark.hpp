// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detects that the process has forked since the mark was made. Every entry point of the C API asks,
// and a getpid() system call would cost more than all other checks of a run together. The mark is
// therefore a byte in a page that Linux clears in a child (MADV_WIPEONFORK, since Linux 4.14).
// Without that, forked() falls back to getpid(). It may be called from any thread.

#include <cstdint>

namespace tw {

class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  bool forked() const;
  /// The id of the process that made the mark.
  int32_t process() const { return process_; }

 private:
  const char* page_ = nullptr;
  int32_t process_;
};

}  // namespace tw
