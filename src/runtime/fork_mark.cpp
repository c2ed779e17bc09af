// SPDX-License-Identifier: Apache-2.0
#include "runtime/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace tw {
namespace {

constexpr size_t kPageBytes = 4096;  // Linux rounds it up if its pages are larger
constexpr char kSet = 1;
constexpr int kNoAdvice = -1;

}  // namespace

ForkMark::ForkMark() : process_(static_cast<int32_t>(getpid())) {
#ifdef MADV_WIPEONFORK
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  // qemu-user 7.2 reports success for every advice but ignores it. An invalid advice unmasks it.
  if (madvise(page, kPageBytes, kNoAdvice) == 0 ||
      madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {
    munmap(page, kPageBytes);
    return;
  }
  auto* bytes = static_cast<char*>(page);
  __atomic_store_n(bytes, kSet, __ATOMIC_RELAXED);
  page_ = bytes;
#endif
}

ForkMark::~ForkMark() {
  if (page_) munmap(const_cast<char*>(page_), kPageBytes);
}

bool ForkMark::forked() const {
  if (page_) return __atomic_load_n(page_, __ATOMIC_RELAXED) != kSet;
  return static_cast<int32_t>(getpid()) != process_;
}

}  // namespace tw
