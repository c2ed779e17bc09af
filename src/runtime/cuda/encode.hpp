// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps of a CUDA device. The library checks the description by its own rules, the driver
// encodes it, and the library logs where its own encoder would have written other bytes.

#include "base/status.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw::cuda {

class CudaDevice;

/// Implements Device::encode(). Known faults of the driver's encoder are corrected in `bytes`.
Status encode(CudaDevice& device, const TensorMapDesc& desc, TensorMapBytes* bytes);

}  // namespace tw::cuda
