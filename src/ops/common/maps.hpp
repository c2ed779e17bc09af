// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps between a plan and its kernel's argument struct.

#include <cstring>

#include "kernels/arguments.h"
#include "runtime/device.hpp"
#include "tensor_map/rebind.hpp"

namespace tw {

/// The device's 128 bytes of a description, as a kernel parameter.
inline Status encode_map(Device& device, const TensorMapDesc& desc, KernelMap* out) {
  TensorMapBytes bytes;
  TW_TRY(device.encode(desc, &bytes));
  std::memcpy(out->words, bytes.words, sizeof out->words);
  return {};
}

/// Another address, and another extent of one dimension (at least 1).
inline void rebind_map(KernelMap* map, uint64_t address, int32_t dimension, int64_t extent) {
  rebind_address(map, address);
  rebind_dim(map, dimension, static_cast<uint64_t>(extent < 1 ? 1 : extent));
}

}  // namespace tw
