// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/cuda/cuda_stream.hpp"
#include "runtime/cuda/encode.hpp"
#include "runtime/cuda/scope.hpp"

namespace tw::cuda {
namespace {

/// Puts a driver object on one of the device's lists. If the list cannot grow, frees the object
/// with undo() and rethrows.
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

/// Fills in `info` and fails below compute capability 9.0. Needs no context, so that an unsupported
/// GPU gets none.
Status check_capability(const Driver& cu, CUdevice number, int32_t ordinal, DeviceInfo* info) {
  const auto attribute = [&](CUdevice_attribute which, int32_t* out) -> Status {
    int value = 0;
    if (const CUresult result = cu.DeviceGetAttribute(&value, which, number);
        result != CUDA_SUCCESS)
      return driver_failure(cu, result, "cuDeviceGetAttribute");
    *out = value;
    return Code::OK;
  };
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->compute_major));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->compute_minor));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->sm_count));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                   &info->max_dynamic_smem_bytes));
  int32_t l2_bytes = 0;
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes));
  info->l2_bytes = static_cast<uint64_t>(l2_bytes);
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &info->clock_khz));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &info->memory_clock_khz));
  TW_TRY(attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &info->memory_bus_bits));
  char name[108] = {};
  if (cu.DeviceGetName(name, sizeof name - 1, number) == CUDA_SUCCESS) info->name = name;
  size_t bytes = 0;
  if (cu.DeviceTotalMem(&bytes, number) == CUDA_SUCCESS) info->total_memory_bytes = bytes;
  info->kind = DeviceKind::cuda;
  info->ordinal = ordinal;
  info->driver_version = cu.version;
  info->features = features_of(info->compute_major, info->compute_minor);
  if (info->compute_major >= 9) return Code::OK;
  return fail(
      Code::ERROR_UNSUPPORTED_DEVICE,
      {.argument = "ordinal", .got = info->compute_major * 10 + info->compute_minor, .limit = 90},
      "device %d (%s) has compute capability %d.%d: the Tensor Memory Accelerator needs 9.0",
      ordinal, name, info->compute_major, info->compute_minor);
}

}  // namespace

CudaDevice::~CudaDevice() {
  close();
}

Status CudaDevice::open(int32_t ordinal) {
  int count = 0;
  TW_TRY(check(cu_.DeviceGetCount(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count)
    return fail(Code::ERROR_NO_DEVICE, {.argument = "ordinal", .got = ordinal, .limit = count - 1},
                count == 0 ? "ordinal is %d: the driver finds no CUDA device"
                           : "ordinal is %d: the driver numbers its CUDA devices from 0 to %d",
                ordinal, count - 1);
  TW_TRY(check(cu_.DeviceGet(&number_, ordinal), "cuDeviceGet"));
  TW_TRY(check_capability(cu_, number_, ordinal, &info_));
  TW_TRY(check(cu_.DevicePrimaryCtxRetain(&context_, number_), "cuDevicePrimaryCtxRetain"));
  owns_primary_ = true;
  return complete_info();
}

Status CudaDevice::open(CUcontext context) {
  context_ = context;
  const CUresult pushed = cu_.CtxPushCurrent(context);
  if (pushed != CUDA_SUCCESS) {
    context_ = nullptr;
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "context", .driver_result = static_cast<int32_t>(pushed)},
                "context is not a live CUDA context: cuCtxPushCurrent returned %s",
                result_name(cu_, pushed));
  }
  const CUresult got = cu_.CtxGetDevice(&number_);
  CUcontext popped = nullptr;
  cu_.CtxPopCurrent(&popped);
  TW_TRY(check(got, "cuCtxGetDevice"));
  // A CUdevice and its ordinal are the same number.
  TW_TRY(check_capability(cu_, number_, number_, &info_));
  return complete_info();
}

Status CudaDevice::complete_info() {
  const char* ptx_only = std::getenv("CUDA_FORCE_PTX_JIT");
  chip_ = {info_.compute_major, info_.compute_minor, ptx_only && std::strcmp(ptx_only, "1") == 0};
  info_.kernel_features = info_.features & embedded_features(chip_);
  // If no embedded image runs here, planning still chooses a kernel by the chip's features, and
  // prepare() then fails. Its message names the kernel, the code that the build has for it, and the
  // code that would have to be added.
  if (info_.kernel_features == 0) info_.kernel_features = info_.features;
  // A context can have fewer SMs than the chip: a green context, or one under MPS with a limit.
  if (!cu_.CtxGetDevResource) return Code::OK;
  CUdevResource resource{};
  if (cu_.CtxGetDevResource(context_, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      resource.sm.smCount > 0)
    info_.sm_count = static_cast<int32_t>(resource.sm.smCount);
  return Code::OK;
}

Status CudaDevice::check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return Code::OK;
  if (is_sticky(result)) {
    const char* kernel = last_kernel_.load(std::memory_order_relaxed);
    mark_lost(static_cast<int32_t>(result), "%s failed with %s (%d)%s%s", call,
              result_name(cu_, result), static_cast<int>(result),
              kernel ? "; the last kernel launched was " : "", kernel ? kernel : "");
    return check_alive();
  }
  return driver_failure(cu_, result, call);
}

void CudaDevice::close() {
  if (closed_.exchange(true)) return;
  // In a forked child the driver does not work, and the objects belong to the parent.
  if (!context_ || forked()) return;
  {
    // If the caller has destroyed the context, it cannot be entered, and its objects are gone.
    const ContextScope scope(*this, ContextScope::closing);
    const std::lock_guard lock(mutex_);
    if (scope.status().ok()) destroy_all();
    streams_.clear();
    events_.clear();
    execs_.clear();
    graphs_.clear();
    allocations_.clear();
    host_allocations_.clear();
    libraries_.unload();
    freed_ = true;
  }
  // No thread can enter the context any more: each ContextScope checks closed_ or freed_ while it
  // holds users_.
  if (owns_primary_) cu_.DevicePrimaryCtxRelease(number_);
}

/// Ignores results: a lost context frees what it can, and a driver that is shutting down with the
/// process has freed everything.
void CudaDevice::destroy_all() {
  for (CUstream stream : streams_) discard_capture(stream);
  for (CUstream stream : streams_) cu_.StreamSynchronize(stream);
  for (CUstream stream : streams_) cu_.StreamDestroy(stream);
  for (CUevent event : events_) cu_.EventDestroy(event);
  for (CUgraphExec exec : execs_) cu_.GraphExecDestroy(exec);
  for (CUgraph graph : graphs_) cu_.GraphDestroy(graph);
  for (const auto& [address, bytes] : allocations_) cu_.MemFree(address);
  for (void* memory : host_allocations_) cu_.MemFreeHost(memory);
}

/// Ends a capture that began on this stream, because a stream under capture can be neither
/// synchronized nor destroyed cleanly. A capture that began on another stream is left alone.
void CudaDevice::discard_capture(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!cu_.StreamEndCapture || cu_.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status == CU_STREAM_CAPTURE_STATUS_NONE)
    return;
  CUgraph graph = nullptr;
  if (cu_.StreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph) cu_.GraphDestroy(graph);
}

Status CudaDevice::check_available(bool found, const char* name) const {
  if (found) return Code::OK;
  return fail(Code::ERROR_DRIVER_TOO_OLD, {.got = cu_.version},
              "the CUDA driver, which is for CUDA %d.%d, lacks %s: update the driver",
              cu_.version / 1000, cu_.version % 1000 / 10, name);
}

Status CudaDevice::allocate(uint64_t bytes, uint64_t* address) {
  const ContextScope scope(*this, ContextScope::relaxed);
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
  // Enter the context before erasing the list entry: if that fails, the entry must stay, so that
  // close() frees the memory.
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  {
    const std::lock_guard lock(mutex_);
    if (allocations_.erase(address) == 0)
      return fail(Code::ERROR_NOT_FOUND, {.argument = "address"},
                  "address 0x%llx was not returned by tw_malloc() on this device, or has been "
                  "freed already",
                  static_cast<unsigned long long>(address));
  }
  return check(cu_.MemFree(address), "cuMemFree");
}

Status CudaDevice::allocate_host(uint64_t bytes, void** memory) {
  TW_TRY(check_available(cu_.MemHostAlloc && cu_.MemFreeHost, "cuMemHostAlloc or cuMemFreeHost"));
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  void* made = nullptr;
  // Portable: pinned for every context, so that other devices can copy from and to it too.
  const CUresult result = cu_.MemHostAlloc(&made, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return fail(Code::ERROR_OUT_OF_MEMORY,
                {.argument = "bytes",
                 .got = static_cast<int64_t>(bytes),
                 .driver_result = static_cast<int32_t>(result)},
                "%llu bytes of pinned host memory cannot be allocated: free some, or use memory "
                "that is not pinned",
                static_cast<unsigned long long>(bytes));
  TW_TRY(check(result, "cuMemHostAlloc"));
  keep(mutex_, host_allocations_, made, [&] { cu_.MemFreeHost(made); });
  *memory = made;
  return Code::OK;
}

Status CudaDevice::release_host(void* memory) {
  // Enter the context before erasing the list entry: if that fails, the entry must stay, so that
  // close() frees the memory.
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  {
    const std::lock_guard lock(mutex_);
    if (host_allocations_.erase(memory) == 0)
      return fail(Code::ERROR_NOT_FOUND, {.argument = "memory"},
                  "memory %p was not returned by tw_malloc_host() on this device, or has been "
                  "freed already",
                  memory);
  }
  return check(cu_.MemFreeHost(memory), "cuMemFreeHost");
}

Status CudaDevice::create_stream(std::unique_ptr<Stream>* out) {
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  CUstream stream = nullptr;
  TW_TRY(check(cu_.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  keep(mutex_, streams_, stream, [&] { cu_.StreamDestroy(stream); });
  *out = std::make_unique<CudaStream>(shared_from_this(), stream, /*own=*/true);
  return Code::OK;
}

Status CudaDevice::wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) {
  // A default stream belongs to the current context, and each ContextScope makes the device's
  // context current.
  if (!cuda_stream || cuda_stream == CU_STREAM_LEGACY || cuda_stream == CU_STREAM_PER_THREAD) {
    *out = std::make_unique<CudaStream>(shared_from_this(), cuda_stream, /*own=*/false);
    return Code::OK;
  }
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  CUcontext owner = nullptr;
  TW_TRY(check(cu_.StreamGetCtx(cuda_stream, &owner), "cuStreamGetCtx"));
  bool same = owner == context_;
  unsigned long long ids[2] = {0, 1};
  // A green context can have several handles, but it has one id.
  if (!same && cu_.CtxGetId && cu_.CtxGetId(owner, &ids[0]) == CUDA_SUCCESS &&
      cu_.CtxGetId(context_, &ids[1]) == CUDA_SUCCESS)
    same = ids[0] == ids[1];
  if (!same)
    return fail(Code::ERROR_WRONG_DEVICE, {.argument = "cuda_stream"},
                "cuda_stream belongs to context %p, but the device uses context %p: open the "
                "device on the stream's context with tw_device_create_from_context()",
                static_cast<void*>(owner), static_cast<void*>(context_));
  *out = std::make_unique<CudaStream>(shared_from_this(), cuda_stream, /*own=*/false);
  return Code::OK;
}

Status CudaDevice::create_event(std::unique_ptr<Event>* out) {
  const ContextScope scope(*this, ContextScope::relaxed);
  TW_TRY(scope.status());
  CUevent event = nullptr;
  TW_TRY(check(cu_.EventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
  keep(mutex_, events_, event, [&] { cu_.EventDestroy(event); });
  *out = std::make_unique<CudaEvent>(shared_from_this(), event, /*own=*/true);
  return Code::OK;
}

Status CudaDevice::wrap_event(CUevent_st* cuda_event, std::unique_ptr<Event>* out) {
  *out = std::make_unique<CudaEvent>(shared_from_this(), cuda_event, /*own=*/false);
  return Code::OK;
}

Status CudaDevice::cuda_handle(CUctx_st** out) {
  *out = context_;
  return Code::OK;
}

Status CudaDevice::encode(const TensorMapDesc& desc, TensorMapBytes* bytes) {
  return cuda::encode(*this, desc, bytes);
}

template <class Handle>
void CudaDevice::destroy(std::set<Handle>& list, Handle handle, CUresult (*call)(Handle)) {
  if (forked() || closed()) return;
  const ContextScope scope(*this, ContextScope::relaxed);
  if (!scope.status().ok()) return;  // close() has destroyed the object or will do so
  {
    const std::lock_guard lock(mutex_);
    if (list.erase(handle) == 0) return;
  }
  call(handle);
}

void CudaDevice::destroy_stream(CUstream stream) {
  if (forked() || closed()) return;
  const ContextScope scope(*this, ContextScope::relaxed);
  if (scope.status().ok()) discard_capture(stream);
  destroy(streams_, stream, cu_.StreamDestroy);
}

void CudaDevice::destroy_event(CUevent event) {
  destroy(events_, event, cu_.EventDestroy);
}

void CudaDevice::destroy_graph(CUgraph graph) {
  destroy(graphs_, graph, cu_.GraphDestroy);
}

void CudaDevice::destroy_exec(CUgraphExec exec) {
  destroy(execs_, exec, cu_.GraphExecDestroy);
}

void CudaDevice::keep_graph(CUgraph graph) {
  keep(mutex_, graphs_, graph, [&] { cu_.GraphDestroy(graph); });
}

void CudaDevice::keep_exec(CUgraphExec exec) {
  keep(mutex_, execs_, exec, [&] { cu_.GraphExecDestroy(exec); });
}

const char* CudaDevice::keep_name(const char* name) {
  const std::lock_guard lock(mutex_);
  return names_.insert(name).first->c_str();
}

}  // namespace tw::cuda
