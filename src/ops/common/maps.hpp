// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps in the argument structs of kernels.

#include <cstring>

#include "kernels/arguments.h"
#include "runtime/device.hpp"
#include "tensor_map/rebind.hpp"

namespace tw {

/// Encodes a description into the 128 bytes of a kernel parameter.
inline Status encode_map(Device& device, const TensorMapDesc& desc, KernelMap* out) {
  TensorMapBytes bytes;
  TW_TRY(device.encode(desc, &bytes));
  std::memcpy(out->words, bytes.words, sizeof out->words);
  return {};
}

/// Sets the address, and the extent of one dimension, which is raised to at least 1.
inline void rebind_map(KernelMap* map, uint64_t address, int32_t dimension, int64_t extent) {
  rebind_address(map, address);
  rebind_dim(map, dimension, static_cast<uint64_t>(extent < 1 ? 1 : extent));
}

}  // namespace tw
