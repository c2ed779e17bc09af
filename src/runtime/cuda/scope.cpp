// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/scope.hpp"

#include "runtime/cuda/cuda_device.hpp"

namespace tw::cuda {

namespace {

constinit thread_local const ContextScope* t_innermost = nullptr;

}  // namespace

ContextScope::ContextScope(CudaDevice& device, Mode mode) : device_(device), outer_(t_innermost) {
  const ContextScope* same = outer_;
  while (same && &same->device_ != &device) same = same->outer_;
  if (mode == closing) {
    device.users().lock();
    exclusive_lock_ = true;
  } else if (!same) {
    device.users().lock_shared();
    shared_lock_ = true;
  }
  t_innermost = this;
  if (mode == relaxed_while_closing ? device.freed() : mode != closing && device.closed()) {
    status_ = device.check_alive();  // fails, because the device is closed
    return;
  }
  enter(mode == keep_capture_mode ? keep_capture_mode : relaxed);
}

void ContextScope::enter(Mode mode) {
  const Driver& cu = device_.cu();
  status_ = device_.check(cu.CtxPushCurrent(device_.context()), "cuCtxPushCurrent");
  if (!status_.ok()) return;
  pushed_ = true;
  // The call exchanges the thread's mode and mode_. The destructor exchanges them back.
  if (mode == relaxed) exchanged_ = cu.ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  const Driver& cu = device_.cu();
  if (exchanged_) cu.ThreadExchangeStreamCaptureMode(&mode_);
  if (pushed_) {
    CUcontext popped = nullptr;
    cu.CtxPopCurrent(&popped);
  }
  t_innermost = outer_;
  if (shared_lock_) device_.users().unlock_shared();
  if (exclusive_lock_) device_.users().unlock();
}

}  // namespace tw::cuda
