// SPDX-License-Identifier: Apache-2.0
#pragma once
// The guard around every driver call. It makes the device's context current and restores the
// caller's afterwards.

#include "base/status.hpp"
#include "driver/driver.hpp"

namespace tw::cuda {

class CudaDevice;

/// Makes the device's context current and keeps other threads from closing the device.
class ContextScope {
 public:
  enum Mode {
    /// Fails on a closed device and leaves the thread's capture mode as it is. For calls that no
    /// capture forbids, such as enqueueing work.
    keep_capture_mode,
    /// Fails on a closed device and switches the thread to relaxed capture mode, so that calls that
    /// a global-mode capture forbids (loading, allocating, queries) do not invalidate any capture.
    relaxed,
    /// Like relaxed, but also enters after close() has begun, until close() has waited for the
    /// device's work and freed the device's objects.
    relaxed_while_closing,
    /// Like relaxed, for close(): waits until no other thread has a ContextScope.
    closing
  };
  ContextScope(CudaDevice& device, Mode mode);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  /// OK if the context is current. Otherwise the driver must not be called.
  Status status() const { return status_; }

 private:
  void enter(Mode mode);

  CudaDevice& device_;
  const ContextScope* const outer_;  // the thread's enclosing ContextScope
  Status status_;
  // Holds users() shared, unless an outer ContextScope of the device does.
  bool shared_lock_ = false;
  bool exclusive_lock_ = false;  // holds users() exclusively
  bool pushed_ = false;
  bool exchanged_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tw::cuda
