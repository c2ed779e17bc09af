// SPDX-License-Identifier: Apache-2.0
#pragma once
// A box in shared memory as a drawing. May throw std::bad_alloc.

#include <string>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// SVG: a cell for each 16 bytes of shared memory, eight of them (the 32 banks) side by side, and
/// in each cell which row of the box lies there and which 16 bytes of it. Boxes of more than 64
/// lines are drawn as far as that: from the pattern's period on they repeat.
std::string draw(const TensorMapDesc& desc);

}  // namespace tw
