// SPDX-License-Identifier: Apache-2.0
#pragma once
// The guard around every driver call. It makes the device's context current and restores the
// caller's afterwards.

#include "base/status.hpp"
#include "driver/driver.hpp"

namespace tw::cuda {

class CudaDevice;

/// Makes the device's context current and keeps other threads from closing the device. Modes:
///   enqueue  fails on a closed device. For calls that only enqueue work.
///   relaxed  also switches the thread to relaxed capture mode, so that calls which a global-mode
///            capture forbids (loading, allocating, queries) do not invalidate somebody's capture.
///   waiting  like relaxed, but also enters after close() has begun, until it has waited for the
///            device's work.
///   closing  like relaxed, for close(): waits until no other thread has a Scope.
class Scope {
 public:
  enum Mode { enqueue, relaxed, waiting, closing };
  Scope(CudaDevice& device, Mode mode);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// OK if the context is current. Otherwise the driver must not be called.
  Status status() const { return status_; }

 private:
  void enter(Mode mode);

  CudaDevice& device_;
  const Scope* const outer_;  // the thread's enclosing Scope
  Status status_;
  bool shared_lock_ = false;     // holds users() shared, unless an outer Scope of the device does
  bool exclusive_lock_ = false;  // holds users() exclusively
  bool pushed_ = false;
  bool exchanged_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tw::cuda
