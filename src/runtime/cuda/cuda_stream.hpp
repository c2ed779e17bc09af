// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams and events of a CUDA device.

#include <atomic>
#include <memory>

#include "driver/driver.hpp"
#include "runtime/device.hpp"

namespace tw::cuda {

class CudaDevice;

class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<Device> device, CUevent event)
      : Event(std::move(device)), event_(event) {}
  ~CudaEvent() override;
  Status synchronize() override;
  Status query() override;
  Status elapsed_since(Event& start, float* milliseconds) override;

  CUevent handle() const { return event_; }
  void recorded() { recorded_.store(true, std::memory_order_relaxed); }

 private:
  CUevent event_;
  std::atomic<bool> recorded_{false};
};

class CudaStream final : public Stream {
 public:
  /// An own stream belongs to the device's list; a wrapped one stays the caller's.
  CudaStream(std::shared_ptr<Device> device, CUstream stream, bool own)
      : Stream(std::move(device)), stream_(stream), own_(own) {}
  ~CudaStream() override;
  Status synchronize() override;
  Status query() override;
  Status wait(Event& event) override;
  Status record(Event& event) override;
  Status copy_to_device(uint64_t dst, const void* src, uint64_t bytes) override;
  Status copy_to_host(void* dst, uint64_t src, uint64_t bytes) override;
  Status copy_on_device(uint64_t dst, uint64_t src, uint64_t bytes) override;
  Status fill(uint64_t dst, uint8_t value, uint64_t bytes) override;
  Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                size_t bytes) override;
  Status launch_params(Kernel& kernel, const LaunchConfig& config, void** params) override;

 private:
  CudaDevice& cuda() const;
  /// Fails while the stream is captured: synchronising would destroy the capture.
  Status check_not_captured();

  CUstream stream_;
  bool own_;
};

}  // namespace tw::cuda
