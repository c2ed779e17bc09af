// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a layout. If the layout is plain (is_plain()), `offset` must be added to the indices of
// `out`. Otherwise the frame of `out` contains the offset, and `offset` is 0.

#include <cstdint>

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

/// Fixes the modes where the coordinate has a number and keeps those where it has `_`.
Status slice(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// Keeps the modes where the coordinate has a number and drops the others.
Status dice(const Layout& layout, const IntTuple& coord, Layout* out);
/// The same layout, beginning at a coordinate.
Status domain_offset(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// One tile. The first `rank` modes are tiled, the others kept.
Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset);
/// One tile of any tiler. A `_` in the coordinate keeps that mode of tiles, after the tile's modes.
Status local_tile(const Layout& layout, const Tiler& tiler, const IntTuple& coord, Layout* out,
                  int64_t* offset);
/// One thread's elements. `threads` maps a position in a tile of its shape to a thread number; the
/// thread gets the element at its position in every tile.
Status local_partition(const Layout& layout, const Layout& threads, int64_t thread, Layout* out,
                       int64_t* offset);

}  // namespace tw
