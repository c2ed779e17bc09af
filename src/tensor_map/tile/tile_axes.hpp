// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between a request and a map: the tensor as axes, the tile as leaves in the order of shared
// memory.

#include "tensor_map/tile/tile_map.hpp"

namespace tw {

/// One or more merged modes of the tensor: a run of positions with one stride.
struct TileAxis {
  int64_t extent;
  int64_t stride;  ///< bytes
  int64_t tile;
  bool free_start;
  int32_t modes = 0;
  struct Mode {
    int32_t mode;
    int64_t scale;  ///< positions that one step along the mode is
    int64_t extent;
  } mode[kMaxTileRank];
};

/// A part of the tile along an axis: `extent` positions, `step` apart.
struct TileLeaf {
  int32_t axis;
  int64_t step;
  int64_t extent;
};

struct TileShape {
  int32_t axes = 0;
  TileAxis axis[kMaxTileRank];
  int32_t leaves = 0;
  TileLeaf leaf[2 * kMaxTileRank];  ///< fastest in shared memory first

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

/// The tensor's axes, contiguous one first; bit i of `merges` merges axis i + 1 into axis i (before
/// any merging). False where the merge would change what is outside the tensor.
bool make_axes(const TileRequest& request, uint32_t merges, TileShape* out);

/// The tile's leaves where it lies box behind box: rows no wider than the swizzle and the largest
/// box allow, further parts of the row outermost.
Status make_leaves(const TileRequest& request, TileShape* shape);

/// The leaves that a layout of shared memory asks for.
Status leaves_of_layout(const TileRequest& request, TileShape* shape);

}  // namespace tw
