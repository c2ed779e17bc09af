// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finding GPUs and opening one, for those who know neither the driver nor the device behind it.
// open_cuda.cpp does so; no_cuda.cpp is in its place in a build without CUDA.

#include <cstdint>
#include <memory>

#include "runtime/device.hpp"

namespace tw {

Status count_cuda_devices(int32_t* count);
Status open_cuda_device(int32_t ordinal, std::shared_ptr<Device>* out);
/// On the caller's context, which stays the caller's.
Status open_cuda_context(CUctx_st* context, std::shared_ptr<Device>* out);

}  // namespace tw
