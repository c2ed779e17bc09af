// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes and leaves into dimensions, boxes, loops and coordinates.

#include "tensor_map/tile/tile_axes.hpp"

namespace tw {

/// The map of axes and leaves; bit a of `folds` folds axis a where it has several leaves, else they
/// are loops. False where that cannot be a map.
bool build_tile_map(const TileRequest& request, const TileShape& shape, uint32_t folds,
                    TileMap* out);

}  // namespace tw
