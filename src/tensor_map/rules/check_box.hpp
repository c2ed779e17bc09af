// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of what one instruction moves: a box, or a column of pixels.

#include "tensor_map/rules/check.hpp"

namespace tw {

/// Of a tiled map. `rank` is 0 where the description's cannot be.
void check_box(const TensorMapDesc& desc, int32_t rank, Violations* out);

/// Of an im2col map.
void check_column(const TensorMapDesc& desc, int32_t rank, int32_t arch, Violations* out);

}  // namespace tw
