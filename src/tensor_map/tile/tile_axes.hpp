// SPDX-License-Identifier: Apache-2.0
#pragma once
// The intermediate form between a TileRequest and a TileMap: the tensor as axes, and the tile as
// leaves in the order in which they fill shared memory.

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
struct TileLeaf {
  int32_t axis;
  int64_t step;
  int64_t extent;
};

struct TileShape {
  int32_t axes = 0;
  TileAxis axis[kMaxTileRank];
  int32_t leaves = 0;
  TileLeaf leaf[2 * kMaxTileRank];  ///< fastest-varying in shared memory first

  bool add_leaf(int32_t at, int64_t step, int64_t extent) {
    if (leaves == 2 * kMaxTileRank) return false;
    leaf[leaves++] = {at, step, extent};
    return true;
  }
  int32_t leaves_of(int32_t at) const {
    int32_t count = 0;
    for (int32_t i = 0; i < leaves; ++i) count += leaf[i].axis == at;
    return count;
  }
};

/// Makes the axes, contiguous one first. Bit i of `merges` merges axis i + 1 into axis i, counted
/// before merging. Returns false if a merge would treat positions outside the tensor as inside.
bool make_axes(const TileRequest& request, uint32_t merges, TileShape* out);

/// Makes the leaves of a tile whose boxes lie one after the other. First come leaves of one box,
/// one per axis and as large as a box allows (that of axis 0 is also no wider than the swizzle).
/// Then comes the quotient of each axis that did not fit, in the order of the axes.
Status make_leaves(const TileRequest& request, TileShape* shape);

/// Makes the leaves from the request's layout of shared memory.
Status leaves_of_layout(const TileRequest& request, TileShape* shape);

}  // namespace tw
