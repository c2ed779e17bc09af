// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns axes and leaves into a TileMap: dimensions, box, loops and coordinates.

#include "tensor_map/tile/tile_axes.hpp"

namespace tw {

/// If bit a of `folds` is set, each leaf of axis a becomes a dimension; otherwise all but its first
/// leaf become loops. Returns false if that gives no valid map.
bool build_tile_map(const TileRequest& request, const TileShape& shape, uint32_t folds,
                    TileMap* out);

}  // namespace tw
