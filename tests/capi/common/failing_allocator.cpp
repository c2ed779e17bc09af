// SPDX-License-Identifier: Apache-2.0
#include "tests/capi/common/failing_allocator.hpp"

#include <cstddef>
#include <new>

extern "C" {
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void __real_free(void *pointer);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void __wrap_free(void *pointer);
}

constinit std::atomic<int64_t> g_fail_at{0};
constinit std::atomic<bool> g_failed{false};
using Exempt = bool (*)();
constinit Exempt g_exempt = nullptr;
constinit std::atomic<int64_t> g_live{0};
constinit thread_local int64_t t_allocations = 0;

namespace {

bool refused() {
  if (g_exempt && g_exempt()) return false;
  ++t_allocations;
  int64_t left = g_fail_at.load();
  while (left > 0 && !g_fail_at.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return false;
  g_failed = true;
  return true;
}

void *counted(void *pointer) {
  if (pointer) ++g_live;
  return pointer;
}

void *allocate(size_t bytes, size_t alignment) {
  if (refused()) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return counted(__real_malloc(bytes));
  return counted(__real_aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}

void *allocate_or_throw(size_t bytes, size_t alignment) {
  void *pointer = allocate(bytes, alignment);
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

}  // namespace

void *__wrap_malloc(size_t bytes) {
  return refused() ? nullptr : counted(__real_malloc(bytes));
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return refused() ? nullptr : counted(__real_calloc(count, bytes));
}
void *__wrap_realloc(void *old, size_t bytes) {
  if (refused()) return nullptr;
  void *pointer = __real_realloc(old, bytes);
  if (!old) counted(pointer);
  return pointer;
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return refused() ? nullptr : counted(__real_aligned_alloc(alignment, bytes));
}
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (refused()) return 12;  // ENOMEM
  const int result = __real_posix_memalign(out, alignment, bytes);
  if (result == 0) ++g_live;
  return result;
}
void __wrap_free(void *pointer) {
  if (pointer) --g_live;
  __real_free(pointer);
}

void *operator new(size_t bytes) {
  return allocate_or_throw(bytes, 0);
}
void *operator new[](size_t bytes) {
  return allocate_or_throw(bytes, 0);
}
void *operator new(size_t bytes, std::align_val_t a) {
  return allocate_or_throw(bytes, static_cast<size_t>(a));
}
void *operator new[](size_t bytes, std::align_val_t a) {
  return allocate_or_throw(bytes, static_cast<size_t>(a));
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 0);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 0);
}
void *operator new(size_t bytes, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(bytes, static_cast<size_t>(a));
}
void *operator new[](size_t bytes, std::align_val_t a, const std::nothrow_t &) noexcept {
  return allocate(bytes, static_cast<size_t>(a));
}
void operator delete(void *p) noexcept {
  __wrap_free(p);
}
void operator delete[](void *p) noexcept {
  __wrap_free(p);
}
void operator delete(void *p, size_t) noexcept {
  __wrap_free(p);
}
void operator delete[](void *p, size_t) noexcept {
  __wrap_free(p);
}
void operator delete(void *p, std::align_val_t) noexcept {
  __wrap_free(p);
}
void operator delete[](void *p, std::align_val_t) noexcept {
  __wrap_free(p);
}
void operator delete(void *p, size_t, std::align_val_t) noexcept {
  __wrap_free(p);
}
void operator delete[](void *p, size_t, std::align_val_t) noexcept {
  __wrap_free(p);
}
