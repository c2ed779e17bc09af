// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws a box in shared memory. May throw std::bad_alloc.

#include <string>

#include "tensor_map/tensor_map.hpp"

namespace tw {

/// An SVG with one cell per 16 bytes of shared memory, eight cells (all 32 banks) per line. Each
/// cell is labeled with the row of the box and the 16-byte chunk of the row. Only the first 64
/// lines are drawn; the swizzle pattern repeats long before.
std::string draw(const TensorMapDesc& desc);

}  // namespace tw
