// SPDX-License-Identifier: Apache-2.0
#pragma once
// The intermediate form between a TileRequest and a TileMap: the tensor as axes, and the tile as
// factors of its extents, in the order in which they fill shared memory.

#include "tensor_map/tile/tile_map.hpp"

namespace tw {

/// One mode of the tensor, or several modes merged into one with one stride. A coordinate along an
/// axis is called a position.
struct TileAxis {
  int64_t extent;
  int64_t stride;  ///< in bytes
  int64_t tile;    ///< the tile's extent along the axis
  bool free_start;
  int32_t modes = 0;
  struct Mode {
    int32_t mode;
    int64_t scale;  ///< axis positions per step along the mode
    int64_t extent;
  } mode[kMaxTileRank];
};

/// A factor of the tile's extent along an axis: `extent` positions that are `step` apart.
struct TileFactor {
  int32_t axis;
  int64_t step;
  int64_t extent;
};

struct TileShape {
  int32_t axes = 0;
  TileAxis axis[kMaxTileRank];
  int32_t factors = 0;
  TileFactor factor[2 * kMaxTileRank];  ///< fastest-varying in shared memory first

  bool add_factor(int32_t of_axis, int64_t step, int64_t extent) {
    if (factors == 2 * kMaxTileRank) return false;
    factor[factors++] = {of_axis, step, extent};
    return true;
  }
  int32_t factors_of(int32_t of_axis) const {
    int32_t count = 0;
    for (int32_t i = 0; i < factors; ++i) count += factor[i].axis == of_axis;
    return count;
  }
};

/// Makes the axes, contiguous one first. Bit i of `merges` merges axis i + 1 into axis i, counted
/// before merging. Returns false if a merge would treat positions outside the tensor as inside.
bool make_axes(const TileRequest& request, uint32_t merges, TileShape* out);

/// Makes the factors of a tile whose boxes lie one after the other. The first factors are the
/// extents of one box: one per axis, as large as a box allows (along axis 0 also no wider than the
/// swizzle span). If the tile's extent along an axis is larger, the quotient is another factor.
/// These factors follow in the order of the axes.
Status make_factors(const TileRequest& request, TileShape* shape);

/// Makes the factors from the request's layout of shared memory.
Status factors_of_layout(const TileRequest& request, TileShape* shape);

}  // namespace tw
