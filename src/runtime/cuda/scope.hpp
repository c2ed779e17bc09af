// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the library enters the driver: with the device's context current, and with the caller's again
// afterwards.

#include "base/status.hpp"
#include "driver/driver.hpp"

namespace tw::cuda {

class CudaDevice;

/// Makes the device's context current for a scope, in which the device is not closed by another
/// thread. `relaxed` also keeps calls that a capture in global mode would forbid (loading,
/// allocating, queries) from breaking captures of others; `waiting` is as relaxed, and enters a
/// device whose closing has begun too, as long as its work has not been waited for; `closing` is
/// close()'s, which waits until it is alone.
class Scope {
 public:
  enum Mode { enqueue, relaxed, waiting, closing };
  Scope(CudaDevice& device, Mode mode);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// OK if the context is current; nothing may be called otherwise.
  Status status() const { return status_; }

 private:
  void enter(Mode mode);

  CudaDevice& device_;
  const Scope* const outer_;  // of this thread
  Status status_;
  bool shares_ = false;  // users(), which an outer scope of the same device may share already
  bool alone_ = false;
  bool pushed_ = false;
  bool exchanged_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tw::cuda
