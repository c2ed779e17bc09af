// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host device: streams are threads, memory is the heap, kernels are the rows' host bodies on
// the model of the copy engine. Operands must lie in memory that the device knows. A fault of the
// model loses the device as it would lose a GPU's context.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/common/host_engine.hpp"
#include "runtime/device.hpp"
#include "runtime/host/known_memory.hpp"

namespace tw {

Status open_host_device(std::shared_ptr<Device>* out);

/// What the launches of a host device have moved so far; zeros for a device of another kind. For
/// tests: synchronise first.
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
  Status prepare(const KernelRow& row, uint32_t dynamic_smem_bytes,
                 std::unique_ptr<Kernel>* out) override;
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override;

  /// Of all captures of this device: where its streams and events stand in them, and what they
  /// recorded.
  std::mutex& captures() { return captures_; }

  // For workers.
  using Device::lost;
  void add(const BoxCounters& counters);
  void fault(const char* kernel, const char* text);
  BoxCounters counters() const;

  Status find_memory(const char* operand, uint64_t address, uint64_t bytes) const override {
    return memory_.check(operand, address, bytes);
  }

 private:
  // A list is never changed, only replaced, so that whoever waits for the workers or ends them can
  // hold on to one without allocating.
  using Workers = std::vector<std::shared_ptr<Worker>>;

  Status take(uint64_t bytes, KnownMemory::Origin origin, uint64_t* address);
  Status give_back(uint64_t address, KnownMemory::Origin origin, const char* argument,
                   const char* giver);

  std::mutex captures_;
  KnownMemory memory_;
  mutable std::mutex mutex_;  // of everything below
  std::shared_ptr<const Workers> workers_ = std::make_shared<const Workers>();
  BoxCounters counters_;
};

}  // namespace host
}  // namespace tw
