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

/// A kernel parameter's bytes as the host side knows them.
inline TensorMapBytes map_bytes(const KernelMap& map) {
  TensorMapBytes bytes;
  std::memcpy(bytes.words, map.words, sizeof bytes.words);
  return bytes;
}

/// Another address.
inline void rebind_address(KernelMap* map, uint64_t address) {
  TensorMapBytes bytes = map_bytes(*map);
  rebind_address(&bytes, address);
  std::memcpy(map->words, bytes.words, sizeof map->words);
}

/// Another address, and another extent of one dimension (at least 1).
inline void rebind_map(KernelMap* map, uint64_t address, int32_t dimension, int64_t extent) {
  TensorMapBytes bytes = map_bytes(*map);
  rebind_address(&bytes, address);
  rebind_dim(&bytes, dimension, static_cast<uint64_t>(extent < 1 ? 1 : extent));
  std::memcpy(map->words, bytes.words, sizeof map->words);
}

/// Boxes of another number of lines, of a rank-2 map.
inline void rebind_box(KernelMap* map, uint32_t lines, uint32_t line_bytes) {
  TensorMapBytes bytes = map_bytes(*map);
  rebind_box_lines(&bytes, lines, line_bytes);
  std::memcpy(map->words, bytes.words, sizeof map->words);
}

}  // namespace tw
