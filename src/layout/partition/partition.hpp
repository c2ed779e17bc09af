// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who moves what: a thread's share of a tensor, the boxes that the TMA moves, the shared-memory
// passes that a warp's access takes. Plain functions of layouts.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// One thread's elements by a thread-value layout: CuTe's get_slice(thread).partition_S(tensor).
/// @param tile shape of the tile that `tv` numbers, leftmost fastest. @param tv (thread, value) to
/// the number of an element of the tile. The answer has the thread's values as first mode and the
/// tiles behind: (values, tile, tile, ...). `offset` as in algebra.hpp.
Status partition_tv(const Layout& tensor, const IntTuple& tile, const Layout& tv, int64_t thread,
                    Layout* out, int64_t* offset);

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

/// Passes through shared memory (32 banks of 4 bytes) that a warp needs to access all its values.
/// @param layout of the elements, swizzled or not. @param tv (thread, value) to a coordinate of it,
/// of at most 32 threads. @param access_bytes 4, 8 or 16, taken by each thread at once: 4 for the
/// whole warp in a pass, 8 for half of it, 16 for a quarter. @param least passes without a
/// conflict.
Status bank_passes(const Layout& layout, int element_bits, const Layout& tv, int access_bytes,
                   int64_t* passes, int64_t* least);

}  // namespace tw
