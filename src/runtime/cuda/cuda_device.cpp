// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.hpp"

#include <utility>

#include "runtime/cuda/cuda_module.hpp"
#include "runtime/cuda/cuda_stream.hpp"

namespace tw::cuda {
namespace {

/// Puts a driver object on one of the device's lists. A list that cannot grow gives the object back
/// to the driver first.
template <class List, class Entry, class Undo>
void keep(std::mutex& mutex, List& list, Entry entry, Undo undo) {
  try {
    const std::lock_guard lock(mutex);
    list.insert(std::move(entry));
  } catch (...) {
    undo();
    throw;
  }
}

}  // namespace

CudaDevice::~CudaDevice() {
  close();
}

Status CudaDevice::check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return Code::OK;
  if (is_sticky(result)) {
    const char* kernel = last_kernel_.load(std::memory_order_relaxed);
    mark_lost(static_cast<int32_t>(result), "%s failed with %s (%d)%s%s", call,
              result_name(cu_, result), static_cast<int>(result),
              kernel ? "; the last kernel launched was " : "", kernel ? kernel : "");
    return alive();
  }
  return driver_failure(cu_, result, call);
}

void CudaDevice::close() {
  if (closed_.exchange(true)) return;
  // In a forked child the driver is dead, and the objects belong to the parent.
  if (!context_ || forked()) return;
  {
    // A caller's context that is gone already cannot be entered; its objects went with it.
    const Scope scope(*this, Scope::closing);
    const std::lock_guard lock(mutex_);
    if (scope.status().ok()) destroy_all();
    streams_.clear();
    events_.clear();
    allocations_.clear();
    for (auto& [image, library] : shards_) cu_.LibraryUnload(library.handle);
    for (auto& library : modules_) cu_.LibraryUnload(library.handle);
    gone_ = true;
  }
  // Nobody enters any more: closed_ and gone_ are looked at inside.
  if (owns_primary_) cu_.DevicePrimaryCtxRelease(number_);
}

/// Results are of no interest: a lost context frees what it can, a process that exits has freed
/// all.
void CudaDevice::destroy_all() {
  for (CUstream stream : streams_) cu_.StreamSynchronize(stream);
  for (CUstream stream : streams_) cu_.StreamDestroy(stream);
  for (CUevent event : events_) cu_.EventDestroy(event);
  for (const auto& [address, bytes] : allocations_) cu_.MemFree(address);
}

Status CudaDevice::allocate(uint64_t bytes, uint64_t* address) {
  const Scope scope(*this, Scope::relaxed);
  TW_TRY(scope.status());
  CUdeviceptr memory = 0;
  const CUresult result = cu_.MemAlloc(&memory, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return fail(Code::ERROR_OUT_OF_MEMORY,
                {.argument = "bytes",
                 .got = static_cast<int64_t>(bytes),
                 .limit = static_cast<int64_t>(info_.total_memory_bytes),
                 .driver_result = static_cast<int32_t>(result)},
                "%llu bytes cannot be allocated on %s, which has %llu",
                static_cast<unsigned long long>(bytes), info_.name.c_str(),
                static_cast<unsigned long long>(info_.total_memory_bytes));
  TW_TRY(check(result, "cuMemAlloc"));
  keep(mutex_, allocations_, std::pair(memory, bytes), [&] { cu_.MemFree(memory); });
  *address = memory;
  return Code::OK;
}

Status CudaDevice::release(uint64_t address) {
  {
    const std::lock_guard lock(mutex_);
    if (allocations_.erase(address) == 0)
      return fail(Code::ERROR_NOT_FOUND, {.argument = "address"},
                  "0x%llx is no address that tw_malloc() gave on this device, or it was freed",
                  static_cast<unsigned long long>(address));
  }
  const Scope scope(*this, Scope::relaxed);
  TW_TRY(scope.status());
  return check(cu_.MemFree(address), "cuMemFree");
}

Status CudaDevice::create_stream(std::unique_ptr<Stream>* out) {
  const Scope scope(*this, Scope::relaxed);
  TW_TRY(scope.status());
  CUstream stream = nullptr;
  TW_TRY(check(cu_.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  keep(mutex_, streams_, stream, [&] { cu_.StreamDestroy(stream); });
  *out = std::make_unique<CudaStream>(shared_from_this(), stream, /*own=*/true);
  return Code::OK;
}

Status CudaDevice::wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) {
  if (cuda_stream == CU_STREAM_LEGACY || cuda_stream == CU_STREAM_PER_THREAD)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "cuda_stream"},
                "cuda_stream is the special handle of the %s default stream: pass a stream that "
                "was created",
                cuda_stream == CU_STREAM_LEGACY ? "legacy" : "per-thread");
  const Scope scope(*this, Scope::relaxed);
  TW_TRY(scope.status());
  CUcontext owner = nullptr;
  TW_TRY(check(cu_.StreamGetCtx(cuda_stream, &owner), "cuStreamGetCtx"));
  bool same = owner == context_;
  unsigned long long ids[2] = {0, 1};
  // A green context has several handles and one id.
  if (!same && cu_.CtxGetId && cu_.CtxGetId(owner, &ids[0]) == CUDA_SUCCESS &&
      cu_.CtxGetId(context_, &ids[1]) == CUDA_SUCCESS)
    same = ids[0] == ids[1];
  if (!same)
    return fail(Code::ERROR_WRONG_DEVICE, {.argument = "cuda_stream"},
                "cuda_stream is of context %p and the device works in context %p: open the device "
                "on the stream's context with tw_device_create_from_context()",
                static_cast<void*>(owner), static_cast<void*>(context_));
  *out = std::make_unique<CudaStream>(shared_from_this(), cuda_stream, /*own=*/false);
  return Code::OK;
}

Status CudaDevice::create_event(std::unique_ptr<Event>* out) {
  const Scope scope(*this, Scope::relaxed);
  TW_TRY(scope.status());
  CUevent event = nullptr;
  TW_TRY(check(cu_.EventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
  keep(mutex_, events_, event, [&] { cu_.EventDestroy(event); });
  *out = std::make_unique<CudaEvent>(shared_from_this(), event);
  return Code::OK;
}

void CudaDevice::destroy_stream(CUstream stream) {
  if (forked() || closed()) return;
  const Scope scope(*this, Scope::relaxed);
  if (!scope.status().ok()) return;  // close() was first, or will be
  {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(stream) == 0) return;
  }
  cu_.StreamDestroy(stream);
}

void CudaDevice::destroy_event(CUevent event) {
  if (forked() || closed()) return;
  const Scope scope(*this, Scope::relaxed);
  if (!scope.status().ok()) return;  // close() was first, or will be
  {
    const std::lock_guard lock(mutex_);
    if (events_.erase(event) == 0) return;
  }
  cu_.EventDestroy(event);
}

const char* CudaDevice::keep_name(const char* name) {
  const std::lock_guard lock(mutex_);
  return names_.insert(name).first->c_str();
}

}  // namespace tw::cuda
