// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_device.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "runtime/host/host_stream.hpp"
#include "runtime/host/worker.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {

Status open_host_device(std::shared_ptr<Device>* out) {
  *out = std::make_shared<host::HostDevice>();
  return Code::OK;
}

BoxCounters host_counters(const Device& device) {
  if (device.info().kind != DeviceKind::host) return {};
  return static_cast<const host::HostDevice&>(device).counters();
}

namespace host {
namespace {

constexpr size_t kAlignment = 256;  // as cuMemAlloc guarantees
// The TMA model follows the rules and swizzles of this architecture.
constexpr int32_t kModelArch = 90;
// CUDA_ERROR_ILLEGAL_INSTRUCTION: a GPU would report it for the faults that the TMA model detects.
constexpr int32_t kFaultResult = 715;

void* pointer_to(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

HostDevice::HostDevice() {
  info_.kind = DeviceKind::host;
  info_.name = "host";
  checks_memory_ = true;
  info_.max_dynamic_smem_bytes = static_cast<int32_t>(HostEngine::kSharedBytes);
  info_.features = info_.kernel_features = feature::host;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0)
    info_.total_memory_bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

HostDevice::~HostDevice() {
  close();
}

void HostDevice::close() {
  if (closed_.exchange(true)) return;
  if (forked()) {
    // The threads exist only in the parent: the child cannot join them, and their locks may be
    // held.
    leak(std::move(workers_));
    return;
  }
  std::shared_ptr<const Workers> ending;
  {
    const std::lock_guard lock(mutex_);
    ending = workers_;
  }
  for (const auto& worker : *ending) worker->finish();
  for (const auto& worker : *ending) worker->join();
  const std::lock_guard lock(mutex_);
  workers_.reset();
  for (const auto& [address, block] : memory_.take_blocks()) std::free(pointer_to(address));
}

Status HostDevice::allocate(uint64_t bytes, uint64_t* address) {
  return take(bytes, KnownMemory::Origin::block, address);
}

Status HostDevice::allocate_host(uint64_t bytes, void** memory) {
  uint64_t address = 0;
  TW_TRY(take(bytes, KnownMemory::Origin::host_block, &address));
  *memory = pointer_to(address);
  return Code::OK;
}

Status HostDevice::take(uint64_t bytes, KnownMemory::Origin origin, uint64_t* address) {
  // Linux overcommits memory and kills the process later. Refusing more than the machine has at
  // least fails with a message.
  const uint64_t maximum =
      info_.total_memory_bytes > 0 ? info_.total_memory_bytes : UINT64_MAX - kAlignment;
  if (bytes > maximum)
    return fail(Code::ERROR_OUT_OF_MEMORY,
                {.argument = "bytes",
                 .got = static_cast<int64_t>(bytes),
                 .limit = static_cast<int64_t>(maximum)},
                "%llu bytes cannot be allocated: the machine has %llu",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(maximum));
  std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment),
      &std::free);
  if (!memory)
    return fail(Code::ERROR_OUT_OF_MEMORY,
                {.argument = "bytes", .got = static_cast<int64_t>(bytes)},
                "%llu bytes cannot be allocated: the process has reached its limit; free some "
                "memory, or raise the limit (ulimit -v, a control group)",
                static_cast<unsigned long long>(bytes));
  const auto number = reinterpret_cast<uintptr_t>(memory.get());
  const std::lock_guard lock(mutex_);
  TW_TRY(check_alive());                     // close() may have freed all blocks by now
  memory_.add_block(number, bytes, origin);  // may throw: `memory` then frees the block
  *address = number;
  memory.release();
  return Code::OK;
}

Status HostDevice::release(uint64_t address) {
  return give_back(address, KnownMemory::Origin::block, "address", "tw_malloc");
}

Status HostDevice::release_host(void* memory) {
  return give_back(reinterpret_cast<uintptr_t>(memory), KnownMemory::Origin::host_block, "memory",
                   "tw_malloc_host");
}

Status HostDevice::give_back(uint64_t address, KnownMemory::Origin origin, const char* argument,
                             const char* giver) {
  std::shared_ptr<const Workers> working;
  {
    const std::lock_guard lock(mutex_);
    if (!memory_.remove_block(address, origin))
      return fail(Code::ERROR_NOT_FOUND, {.argument = argument},
                  "%s 0x%llx was not returned by %s() on this device, or has been freed already",
                  argument, static_cast<unsigned long long>(address), giver);
    working = workers_;
  }
  // Like cuMemFree, wait first: enqueued work may still use the memory.
  for (const auto& worker : *working) worker->wait(worker->enqueued());
  std::free(pointer_to(address));
  return Code::OK;
}

Status HostDevice::register_memory(uint64_t address, uint64_t bytes) {
  memory_.add_range(address, bytes);
  return Code::OK;
}

Status HostDevice::unregister_memory(uint64_t address) {
  if (memory_.remove_range(address)) return Code::OK;
  return fail(Code::ERROR_NOT_FOUND, {.argument = "address"},
              "address 0x%llx was not passed to tw_memory_register() on this device, or has been "
              "unregistered as often as it was registered",
              static_cast<unsigned long long>(address));
}

Status HostDevice::create_stream(std::unique_ptr<Stream>* out) {
  // Allocate first: if an exception came after the worker was listed, the device would keep a
  // worker without a stream.
  const auto worker = std::make_shared<Worker>(*this);
  auto stream = std::make_unique<HostStream>(shared_from_this(), worker);
  Workers ended;
  {
    const std::lock_guard lock(mutex_);
    TW_TRY(check_alive());  // close() may have ended all workers by now
    auto staying = std::make_shared<Workers>();
    staying->reserve(workers_->size() + 1);
    for (const auto& other : *workers_) (other->finished() ? ended : *staying).push_back(other);
    staying->push_back(worker);
    workers_ = std::move(staying);
  }
  for (const auto& other : ended) other->join();
  *out = std::move(stream);
  return Code::OK;
}

Status HostDevice::wrap_stream(CUstream_st*, std::unique_ptr<Stream>*) {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = "device"},
              "the host device cannot run a CUDA stream: use tw_stream_create(), or a CUDA device");
}

Status HostDevice::create_event(std::unique_ptr<Event>* out) {
  *out = std::make_unique<HostEvent>(shared_from_this());
  return Code::OK;
}

Status HostDevice::load_module(const void*, size_t, std::unique_ptr<Module>*) {
  return fail(Code::ERROR_WRONG_DEVICE, {.argument = "device"},
              "the host device cannot run GPU code: load the module on a CUDA device");
}

Status HostDevice::prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                           std::unique_ptr<Kernel>* out) {
  if (!entry.host)
    return fail(Code::ERROR_UNSUPPORTED, {}, "kernel %s has no body for the host device",
                entry.symbol);
  if (dynamic_smem_bytes > HostEngine::kSharedBytes)
    return fail(Code::ERROR_UNSUPPORTED,
                {.got = dynamic_smem_bytes, .limit = HostEngine::kSharedBytes},
                "kernel %s needs %u bytes of shared memory, but the host device has %u",
                entry.symbol, dynamic_smem_bytes, HostEngine::kSharedBytes);
  *out = std::make_unique<HostKernel>(shared_from_this(), entry);
  return Code::OK;
}

Status HostDevice::encode(const TensorMapDesc& desc, TensorMapBytes* bytes) {
  return tw::encode(desc, kModelArch, bytes);
}

void HostDevice::add(const BoxCounters& counters) {
  const std::lock_guard lock(mutex_);
  counters_.boxes_loaded += counters.boxes_loaded;
  counters_.boxes_stored += counters.boxes_stored;
  counters_.boxes_prefetched += counters.boxes_prefetched;
}

void HostDevice::fault(const char* kernel, const char* text) {
  mark_lost(kFaultResult, "kernel %s: %s", kernel, text);
}

BoxCounters HostDevice::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace host
}  // namespace tw
