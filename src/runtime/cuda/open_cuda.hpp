// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts GPUs and opens one, without exposing the driver or CudaDevice. Implemented by
// open_cuda.cpp or, in a build without CUDA, by no_cuda.cpp.

#include <cstdint>
#include <memory>

#include "runtime/device.hpp"

namespace tw {

Status count_cuda_devices(int32_t* count);
Status open_cuda_device(int32_t ordinal, std::shared_ptr<Device>* out);
/// Opens a device on the caller's context, which stays the caller's.
Status open_cuda_context(CUctx_st* context, std::shared_ptr<Device>* out);

}  // namespace tw
