// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who moves what: the boxes that the TMA moves. A plain function of layouts.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

inline constexpr int kMaxBoxRank = 5;
inline constexpr int64_t kMaxBoxExtent = 256;  // that the TMA moves at once along one dimension

/// How the TMA moves a tile: CuTe's tma_partition.
struct BoxPlan {
  int rank = 0;
  int64_t box[kMaxBoxRank] = {};  ///< extents of one box, by mode of the tensor
  int order[kMaxBoxRank] = {};    ///< modes from the fastest in shared memory on
  Layout coords;                  ///< number of a box to the tensor coordinate of its first element
  Layout slots;  ///< (box, stage) to the element of shared memory where it goes, unswizzled
};

/// @param tensor of integer or basis strides, one mode a dimension. @param smem the tile's modes in
/// the tensor's order, each of the tile's extent, then stages; may be swizzled. @param tile extents
/// of the tile. @param coord which tile. @param ctas of a cluster that share the tile, each moving
/// an equal part to all; `cta` the number of this one among them (1 and 0 where nothing is shared).
/// ERROR_NOT_A_LAYOUT with the reason where no box fits.
Status partition_tma(const Layout& tensor, const Layout& smem, const IntTuple& tile,
                     const IntTuple& coord, int64_t ctas, int64_t cta, BoxPlan* out);

}  // namespace tw
