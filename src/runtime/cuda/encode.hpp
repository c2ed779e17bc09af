// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps: checked by the library's rules, written by the driver, compared with what the
// library would have written.

#include "base/status.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw::cuda {

class CudaDevice;

Status encode(CudaDevice& device, const TensorMapDesc& desc, TensorMapBytes* bytes);

}  // namespace tw::cuda
