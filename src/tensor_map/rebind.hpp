// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patching a descriptor that is already encoded: what a plan's run does instead of encoding anew.
// Offsets of the fields are those of descriptor.cpp; a test holds both against each other. A Map is
// anything with 16 words of 64 bits: runs patch the kernel's parameter in its place, since a copy
// there and back would wait for the stores in between.

#include <cstdint>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// Word 0 is the address, whole.
template <class Map>
void rebind_address(Map* map, uint64_t address) {
  map->words[0] = address;
}

/// Words 4 to 6 hold the extents less one, two of 32 bits a word. `extent` is 1 to 2^32.
template <class Map>
void rebind_dim(Map* map, int32_t dimension, uint64_t extent) {
  auto& word = map->words[4 + dimension / 2];
  const int shift = (dimension & 1) * 32;
  word = (word & ~(0xffffffffull << shift)) | (((extent - 1) & 0xffffffffull) << shift);
}

/// The second extent of a tiled rank-2 map's box, 1 to 256, whose first one takes `line_bytes`;
/// both element strides are 1.
template <class Map>
void rebind_box_lines(Map* map, uint32_t lines, uint32_t line_bytes) {
  map->words[7] = lines - 1;
  map->words[8] = uint64_t{lines} * line_bytes;
}

/// The pitch of dimension + 1, a multiple of 16 below 2^40: 32 bits of it beside each other in
/// words 1 to 3, the last four together in word 3.
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
