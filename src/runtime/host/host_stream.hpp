// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams, events and kernels of the host device. Streams enqueue operations on a worker
// (worker.hpp) or, under capture, record them (capture.hpp).

#include <memory>

#include "runtime/device.hpp"
#include "runtime/host/capture.hpp"

namespace tw::host {

class HostKernel final : public Kernel {
 public:
  HostKernel(std::shared_ptr<Device> device, const KernelEntry& entry)
      : Kernel(std::move(device)), entry_(entry) {}
  const KernelEntry& entry() const { return entry_; }
  Status info(KernelInfo* out) override;
  Status param(int32_t index, size_t* offset, size_t* size) override;
  Status occupancy(const LaunchConfig& config, int32_t* blocks_per_sm, int32_t* clusters) override;

 private:
  const KernelEntry& entry_;
};

class HostEvent final : public Event {
 public:
  explicit HostEvent(std::shared_ptr<Device> device);
  ~HostEvent() override;
  Status synchronize() override;
  Status query() override;
  Status elapsed_since(Event& start, float* milliseconds) override;

  const std::shared_ptr<EventState>& state() const { return state_; }
  /// The worker and position of the last record that was not captured; nullptr if there is none.
  void last_record(std::shared_ptr<Worker>* worker, uint64_t* position) const;
  bool recorded() const;
  /// If the last record was captured: its position in the capture. Otherwise empty. Guarded by
  /// HostDevice::captures_mutex().
  CapturePoint& capture_point() { return capture_point_; }

 private:
  /// Fails if the last record was captured.
  Status check_not_captured() const;

  std::shared_ptr<EventState> state_;
  CapturePoint capture_point_;
};

class HostStream final : public Stream {
 public:
  HostStream(std::shared_ptr<Device> device, std::shared_ptr<Worker> worker);
  ~HostStream() override;
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
  Status copy_between(Device& dst_device, uint64_t dst, Device& src_device, uint64_t src,
                      uint64_t bytes) override;
  Status begin_capture() override;
  Status end_capture(std::unique_ptr<Graph>* out) override;
  Status is_captured(bool* yes) override;

  const std::shared_ptr<Worker>& worker() const { return worker_; }

 private:
  Status enqueue(Operation operation, const void* arguments = nullptr, size_t bytes = 0);
  Status check_not_captured();
  /// Ends the capture that began on this stream, if any. For the destructor.
  void end_own_capture();
  std::mutex& captures_mutex() const;
  // The caller of the following functions has locked captures_mutex().
  bool capturing();
  Status record_node(Operation operation, const void* arguments, size_t bytes);
  Status wait_in_capture(HostEvent& event);

  std::shared_ptr<Worker> worker_;
  CapturePoint point_;  // guarded by captures_mutex()
};

}  // namespace tw::host
