// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patches an encoded descriptor, so that the runs of a plan need not encode it again. The bit
// positions are those in descriptor.cpp; a test compares both. A Map is any type with 16 64-bit
// words, so that a run can patch the kernel's parameter in place: copying it back and forth would
// stall on the stores in between.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

template <class Map>
void rebind_address(Map* map, uint64_t address) {
  map->words[0] = address;
}

/// Sets global_dim[dimension]. `extent` is 1 to 2^32.
template <class Map>
void rebind_dim(Map* map, int32_t dimension, uint64_t extent) {
  auto& word = map->words[4 + dimension / 2];
  const int shift = (dimension & 1) * 32;
  word = (word & ~(0xffffffffull << shift)) | (((extent - 1) & 0xffffffffull) << shift);
}

/// Sets box_dim[1] of a tiled rank-2 map to `lines`, 1 to 256. `line_bytes` is the size of the box
/// along dimension 0. Both element strides must be 1.
template <class Map>
void rebind_box_rows(Map* map, uint32_t lines, uint32_t line_bytes) {
  map->words[7] = lines - 1;
  map->words[8] = uint64_t{lines} * line_bytes;
}

/// Sets global_stride_bytes[dimension]. `stride` is a multiple of 16 below 2^40.
template <class Map>
void rebind_stride(Map* map, int32_t dimension, uint64_t stride) {
  const uint64_t units = stride / 16;
  auto& low = map->words[1 + (dimension + 1) / 2];
  const int low_shift = dimension % 2 == 0 ? 32 : 0;
  low = (low & ~(0xffffffffull << low_shift)) | (units & 0xffffffffull) << low_shift;
  const int high_shift = 32 + 4 * dimension;
  auto& high = map->words[3];
  high = (high & ~(15ull << high_shift)) | (units >> 32 & 15) << high_shift;
}

}  // namespace tw
