// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patching a descriptor that is already encoded: what a plan's run does instead of encoding anew.
// Offsets of the fields are those of encode.cpp; a test holds both against each other.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Word 0 is the address, whole.
inline void rebind_address(TensorMapBytes* bytes, uint64_t address) {
  bytes->words[0] = address;
}

/// Words 4 to 6 hold the extents less one, two of 32 bits a word. `extent` is 1 to 2^32.
inline void rebind_dim(TensorMapBytes* bytes, int32_t dimension, uint64_t extent) {
  uint64_t& word = bytes->words[4 + dimension / 2];
  const int shift = (dimension & 1) * 32;
  word = (word & ~(0xffffffffull << shift)) | (((extent - 1) & 0xffffffffull) << shift);
}

}  // namespace tw
