// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verbs of the algebra, a .cpp for each family. Names and answers are CuTe's; where CuTe would
// return a layout that is not the mathematical answer these return the right one, or refuse with
// ERROR_NOT_A_LAYOUT and the reason. `out` must not be an operand and is undefined after an error.
//
// Verbs that only cut, join or reorder modes keep a layout's swizzle and offset in front; those
// whose answer would depend on them refuse them.

#include <cstdint>

#include "base/status.hpp"
#include "layout/algebra/tiler.hpp"
#include "layout/layout.hpp"

namespace tw {

// Questions (queries.cpp). Of a swizzle and an offset they take account.
/// No two coordinates share an index.
Status is_injective(const Layout& layout, bool* yes);
/// Between its smallest and its largest index the layout leaves none out.
Status is_surjective(const Layout& layout, bool* yes);
/// Both: size(layout) indices one behind the other, in any order.
Status is_contiguous(const Layout& layout, bool* yes);

// Fewer modes, the same function (coalesce.cpp).
Status coalesce(const Layout& layout, Layout* out);
/// By mode: where `profile` has an integer, the mode there becomes flat.
Status coalesce(const Layout& layout, const IntTuple& profile, Layout* out);
/// coalesce without the modes of stride 0.
Status filter(const Layout& layout, Layout* out);
Status filter(const Layout& layout, const IntTuple& profile, Layout* out);
/// Modes of stride 0 become of extent 1.
Status filter_zeros(const Layout& layout, Layout* out);
Status flatten(const Layout& layout, Layout* out);

// The modes at the top rearranged (modes.cpp).
Status group_modes(const Layout& layout, int begin, int end, Layout* out);
Status append(const Layout& layout, const Layout& mode, Layout* out);
Status prepend(const Layout& layout, const Layout& mode, Layout* out);
Status replace(const Layout& layout, int index, const Layout& mode, Layout* out);
Status select(const Layout& layout, int count, const int32_t* modes, Layout* out);
Status take(const Layout& layout, int begin, int end, Layout* out);

/// R(c) = A(B(c)), with B's profile refined (compose.cpp). A swizzle or offset of A stays in front;
/// B may give coordinates, each of which then indexes a mode of A.
Status composition(const Layout& a, const Layout& b, Layout* out);
/// By mode; A's modes behind the tiler's rank are dropped, as CuTe drops them.
Status composition(const Layout& a, const Tiler& tiler, Layout* out);

/// What the layout leaves out of 0 .. cosize - 1, in rising order (complement.cpp).
Status complement(const Layout& layout, int64_t cosize, Layout* out);

/// L(R(i)) = i for i < size(R), with R as long as L counts from 0 (inverse.cpp).
Status right_inverse(const Layout& layout, Layout* out);
/// R(L(i)) = i; where L is not injective L(R(L(i))) = L(i).
Status left_inverse(const Layout& layout, Layout* out);

// Divides (divide.cpp) and products (product.cpp).
Status logical_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status zipped_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status tiled_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status flat_divide(const Layout& layout, const Tiler& tiler, Layout* out);
Status logical_product(const Layout& a, const Tiler& tiler, Layout* out);
Status zipped_product(const Layout& a, const Tiler& tiler, Layout* out);
Status tiled_product(const Layout& a, const Tiler& tiler, Layout* out);
Status flat_product(const Layout& a, const Tiler& tiler, Layout* out);
Status blocked_product(const Layout& a, const Layout& b, Layout* out);
Status raked_product(const Layout& a, const Layout& b, Layout* out);
/// The block repeated until it covers the shape; `order` (may be nullptr: leftmost first) says in
/// which order the copies follow one another.
Status tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple* order,
                     Layout* out);

// Vector widths (common.cpp).
Status max_common_layout(const Layout& a, const Layout& b, Layout* out);
Status max_common_vector(const Layout& a, const Layout& b, int64_t* length);
Status max_alignment(const Layout& layout, int64_t* alignment);
/// The coordinates that all have index 0: L(N(i)) = 0.
Status nullspace(const Layout& layout, Layout* out);
/// A layout of as many of `size` coordinates as spread evenly over a shape's modes.
Status domain_distribute(const IntTuple& shape, int64_t size, Layout* out);

// From shapes (make.cpp).
Status make_layout_left(const IntTuple& shape, Layout* out);
Status make_layout_right(const IntTuple& shape, Layout* out);
/// Compact, strides rising with the numbers of `order`, which may be coarser than the shape; equal
/// numbers give equal strides.
Status make_ordered_layout(const IntTuple& shape, const IntTuple& order, Layout* out);
/// Compact, in the order of the layout's strides; strides 0 stay.
Status make_layout_like(const Layout& layout, Layout* out);
/// Each coordinate to itself: basis strides.
Status make_identity_layout(const IntTuple& shape, Layout* out);
/// (thread, value) to the index in a tile whose shape `tiler` becomes.
Status make_layout_tv(const Layout& threads, const Layout& values, IntTuple* tiler, Layout* out);

/// A swizzle in front of a layout of integers.
Status swizzled(const Layout& layout, const BitSwizzle& swizzle, Layout* out);

// Elements of another size (recast.cpp). A swizzle is recast with its layout.
Status upcast(const Layout& layout, int64_t n, Layout* out);
Status downcast(const Layout& layout, int64_t n, Layout* out);
Status recast(const Layout& layout, int64_t from_bits, int64_t to_bits, Layout* out);
Status upcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out);
Status downcast(const BitSwizzle& swizzle, int64_t n, BitSwizzle* out);
Status recast(const BitSwizzle& swizzle, int64_t from_bits, int64_t to_bits, BitSwizzle* out);

// Parts of a layout. Where it gives plain integers, `offset` is what is to be added to the part's
// indices; else that is part of `out` and `offset` is 0.

/// Modes where the coordinate has a number are fixed there, modes with `_` stay (slice.cpp).
Status slice(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// The opposite choice: modes with a number stay.
Status dice(const Layout& layout, const IntTuple& coord, Layout* out);
/// The same layout from a coordinate on.
Status domain_offset(const Layout& layout, const IntTuple& coord, Layout* out, int64_t* offset);
/// One tile (local_tile.cpp): the first `rank` modes are tiled, those behind them kept.
Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset);
/// With any tiler; `_` in the coordinate keeps a mode of tiles, behind the tile's modes.
Status local_tile(const Layout& layout, const Tiler& tiler, const IntTuple& coord, Layout* out,
                  int64_t* offset);
/// One thread's elements: its place in `threads`, in every tile of threads' shape.
Status local_partition(const Layout& layout, const Layout& threads, int64_t thread, Layout* out,
                       int64_t* offset);

/// The end of such a verb: `moved` goes into the frame or comes out as offset (slice.cpp).
Status frame_or_offset(const Layout& layout, const Stride& moved, LayoutBuilder* builder,
                       int64_t* offset);

}  // namespace tw
