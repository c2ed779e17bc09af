// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns axes and factors into a TileMap: dimensions, box, loops and coordinates.

#include "tensor_map/tile/tile_axes.hpp"

namespace tw {

/// If bit a of `splits` is set, axis a is split: each of its factors becomes a dimension. Otherwise
/// all its factors but the first become loops. Returns false if that gives no valid map.
bool build_tile_map(const TileRequest& request, const TileShape& shape, uint32_t splits,
                    TileMap* out);

}  // namespace tw
