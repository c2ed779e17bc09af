// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of zeros of which most elements are never touched. Untouched pages take neither memory nor
// time, and the memory of an array that has ended serves the next one of its size: the race
// detector keeps 16 MB and more for the shared memory of a CTA, and a test has thousands of CTAs.

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tw::ptx_machine {

/// Memory of ended arrays, by size. All of it is 0.
class ZeroPool {
 public:
  ZeroPool() = default;
  ZeroPool(const ZeroPool&) = delete;
  ZeroPool& operator=(const ZeroPool&) = delete;
  ~ZeroPool() {
    for (const auto& [bytes, blocks] : free_)
      for (void* block : blocks) munmap(block, bytes);
  }

  void* take(size_t bytes) {
    std::vector<void*>& blocks = free_[bytes];
    if (!blocks.empty()) {
      void* const block = blocks.back();
      blocks.pop_back();
      kept_bytes_ -= bytes;
      return block;
    }
    void* const block =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    return block;
  }
  void give_back(void* block, size_t bytes) {
    if (kept_bytes_ + bytes > kMostKept) {
      munmap(block, bytes);
      return;
    }
    free_[bytes].push_back(block);
    kept_bytes_ += bytes;
  }
  static ZeroPool& of_thread() {
    static thread_local ZeroPool pool;
    return pool;
  }

 private:
  static constexpr size_t kMostKept = size_t{512} << 20;
  std::map<size_t, std::vector<void*>> free_;
  size_t kept_bytes_ = 0;
};

template <class T>
class LazyZeros {
  static_assert(std::is_trivial_v<T>);

 public:
  LazyZeros() = default;
  LazyZeros(const LazyZeros&) = delete;
  LazyZeros& operator=(const LazyZeros&) = delete;
  /// All elements must be 0 again.
  ~LazyZeros() {
    if (data_) ZeroPool::of_thread().give_back(data_, bytes_);
  }

  /// Call it once.
  void allocate(size_t count) {
    bytes_ = count * sizeof(T);
    if (count > 0) data_ = static_cast<T*>(ZeroPool::of_thread().take(bytes_));
  }
  void clear(size_t first, size_t count) { std::memset(data_ + first, 0, count * sizeof(T)); }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  T* begin() { return data_; }

 private:
  T* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tw::ptx_machine
