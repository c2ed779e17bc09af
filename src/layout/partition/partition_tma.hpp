// SPDX-License-Identifier: Apache-2.0
#pragma once
// The boxes with which the TMA moves a tile.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

inline constexpr int kMaxBoxRank = 5;
inline constexpr int64_t kMaxBoxExtent = 256;  // the TMA's limit along one dimension

/// How the TMA moves a tile: CuTe's tma_partition.
struct BoxPlan {
  int rank = 0;
  int64_t box[kMaxBoxRank] = {};  ///< extents of one box, by mode of the tensor
  int order[kMaxBoxRank] = {};    ///< modes, fastest in shared memory first
  Layout coords;                  ///< maps a box's number to the tensor coordinate where it begins
  Layout slots;  ///< maps (box, stage) to the unswizzled element of shared memory where it begins
};

/// `tensor` has integer or basis strides and one leaf per mode. `smem` has the tile's modes in the
/// tensor's order and then the stages; it may be swizzled. `coord` selects the tile. With
/// multicast, `ctas` CTAs of a cluster share the tile, each loads an equal part for all, and `cta`
/// is the number of this one; otherwise pass 1 and 0. Fails with ERROR_NOT_A_LAYOUT and the reason
/// if no box fits.
Status partition_tma(const Layout& tensor, const Layout& smem, const IntTuple& tile,
                     const IntTuple& coord, int64_t ctas, int64_t cta, BoxPlan* out);

}  // namespace tw
