// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of a layout. Where it gives plain integers, `offset` is what is to be added to the part's
// indices; else that is part of `out` and `offset` is 0.

#include <cstdint>

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

/// Modes where the coordinate has a number are fixed there, modes with `_` stay.
Status slice(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// The opposite choice: modes with a number stay.
Status dice(const Layout& layout, const IntTuple& coord, Layout* out);
/// The same layout from a coordinate on.
Status domain_offset(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// One tile: the first `rank` modes are tiled, those behind them kept.
Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset);
/// With any tiler; `_` in the coordinate keeps a mode of tiles, behind the tile's modes.
Status local_tile(const Layout& layout, const Tiler& tiler, const IntTuple& coord, Layout* out,
                  int64_t* offset);
/// One thread's elements: its place in `threads`, in every tile of threads' shape.
Status local_partition(const Layout& layout, const Layout& threads, int64_t thread, Layout* out,
                       int64_t* offset);

}  // namespace tw
