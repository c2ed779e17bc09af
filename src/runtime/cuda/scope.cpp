// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.hpp"

namespace tw::cuda {

Scope::Scope(CudaDevice& device, Mode mode) : device_(device) {
  const Driver& cu = device.cu();
  status_ = device.check(cu.CtxPushCurrent(device.context()), "cuCtxPushCurrent");
  if (!status_.ok()) return;
  pushed_ = true;
  // The call swaps the thread's mode with ours; the destructor swaps back.
  if (mode == relaxed) exchanged_ = cu.ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}

Scope::~Scope() {
  const Driver& cu = device_.cu();
  if (exchanged_) cu.ThreadExchangeStreamCaptureMode(&mode_);
  if (!pushed_) return;
  CUcontext popped = nullptr;
  cu.CtxPopCurrent(&popped);
}

}  // namespace tw::cuda
