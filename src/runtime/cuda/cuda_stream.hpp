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
  /// `own`: the event is on the device's list and dies with this object. Otherwise it stays the
  /// caller's.
  CudaEvent(std::shared_ptr<Device> device, CUevent event, bool own)
      : Event(std::move(device)), event_(event), own_(own), recorded_(!own) {}
  ~CudaEvent() override;
  Status synchronize() override;
  Status query() override;
  Status elapsed_since(Event& start, float* milliseconds) override;
  Status cuda_handle(CUevent_st** out) override;

  CUevent handle() const { return event_; }
  /// Notes that the event was recorded, and whether the record became part of a graph.
  void note_record(bool in_capture) {
    captured_.store(in_capture, std::memory_order_relaxed);
    recorded_.store(true, std::memory_order_relaxed);
  }

 private:
  CUevent event_;
  bool own_;
  /// Fails if the last record was captured. Waiting for such an event or querying it would fail and
  /// also invalidate the capture, so the driver must not be asked.
  Status check_not_captured() const;

  std::atomic<bool> captured_ = false;  // the last record became part of a graph
  std::atomic<bool> recorded_;  // true for a wrapped event, which the caller may have recorded
};

class CudaStream final : public Stream {
 public:
  /// `own`: the stream is on the device's list and dies with this object. Otherwise it stays the
  /// caller's.
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
  Status copy_between(Device& dst_device, uint64_t dst, Device& src_device, uint64_t src,
                      uint64_t bytes) override;
  Status begin_capture() override;
  Status end_capture(std::unique_ptr<Graph>* out) override;
  Status is_captured(bool* yes) override;
  Status cuda_handle(CUstream_st** out) override;

  CUstream handle() const { return stream_; }

 private:
  CudaDevice& cuda() const;
  /// Asks the driver for the stream's capture status. Call inside a ContextScope.
  Status capture_status(CUstreamCaptureStatus* status);
  /// Fails while the stream is captured, because synchronizing would invalidate the capture. Call
  /// inside a ContextScope.
  Status check_not_captured();

  CUstream stream_;
  bool own_;
};

}  // namespace tw::cuda
