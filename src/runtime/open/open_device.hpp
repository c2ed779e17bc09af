// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts and opens devices of either kind. Only this folder depends on both implementations, so
// that code which merely uses devices links neither.

#include <cstdint>
#include <memory>

#include "runtime/cuda/open_cuda.hpp"  // for open_cuda_context()
#include "runtime/device.hpp"

namespace tw {

Status count_devices(DeviceKind kind, int32_t* count);
Status open_device(DeviceKind kind, int32_t ordinal, std::shared_ptr<Device>* out);

}  // namespace tw
