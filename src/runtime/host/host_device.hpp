// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host device, the CPU reference. Each stream is a worker thread, memory comes from the heap,
// and a kernel is its entry's host body, which runs on the TMA model. Operands must lie in memory
// that the device knows (known_memory.hpp). A fault in the TMA model marks the device as lost, as
// an illegal instruction kills a GPU's context.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/common/host_engine.hpp"
#include "runtime/device.hpp"
#include "runtime/host/known_memory.hpp"

namespace tw {

Status open_host_device(std::shared_ptr<Device>* out);

/// For tests: the boxes that all launches on a host device have moved; zeros for another kind of
/// device. Synchronize first.
BoxCounters host_counters(const Device& device);

namespace host {

class Worker;

class HostDevice final : public Device {
 public:
  HostDevice();
  ~HostDevice() override;

  void close() override;
  Status allocate(uint64_t bytes, uint64_t* address) override;
  Status release(uint64_t address) override;
  Status allocate_host(uint64_t bytes, void** memory) override;
  Status release_host(void* memory) override;
  Status register_memory(uint64_t address, uint64_t bytes) override;
  Status unregister_memory(uint64_t address) override;
  Status create_stream(std::unique_ptr<Stream>* out) override;
  Status wrap_stream(CUstream_st* cuda_stream, std::unique_ptr<Stream>* out) override;
  Status create_event(std::unique_ptr<Event>* out) override;
  Status load_module(const void* image, size_t size, std::unique_ptr<Module>* out) override;
  Status prepare(const KernelEntry& entry, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override;
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override;

  /// Guards all captures of this device, the recordings of unfinished ones, and the capture points
  /// of its streams and events.
  std::mutex& captures_mutex() { return captures_mutex_; }

  // The following are for workers.
  using Device::lost;
  void add(const BoxCounters& counters);
  void fault(const char* kernel, const char* text);
  BoxCounters counters() const;

  Status find_memory(const char* operand, uint64_t address, uint64_t bytes) const override {
    return memory_.check(operand, address, bytes);
  }

 private:
  // A list is never changed, only replaced. So a thread that waits for the workers or ends them can
  // hold a list without copying it.
  using Workers = std::vector<std::shared_ptr<Worker>>;

  Status take(uint64_t bytes, KnownMemory::Origin origin, uint64_t* address);
  Status give_back(uint64_t address, KnownMemory::Origin origin, const char* argument,
                   const char* giver);

  std::mutex captures_mutex_;
  KnownMemory memory_;
  mutable std::mutex mutex_;  // guards everything below
  std::shared_ptr<const Workers> workers_ = std::make_shared<const Workers>();
  BoxCounters counters_;
};

}  // namespace host
}  // namespace tw
