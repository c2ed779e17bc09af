// SPDX-License-Identifier: Apache-2.0
#pragma once
// LinearLayout: which element of a tensor each register of each thread holds, as Triton has it.
//
// The register, lane, warp and block numbers are split into bits; each bit has a basis, the
// coordinates that it contributes, and the contributions of all set bits are joined by exclusive
// or. Extents are powers of two. A function linear over GF(2): a matrix whose columns are bases.
//
// A column packs the coordinates into one word, dimension 0 in the lowest bits, so that the word of
// an element is also its colexicographic number. A plain value without heap; many threads may read
// one.

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/text.hpp"

namespace tw {

/// What the bits count, lowest first in the number of a whole input.
enum class InDim : int { reg = 0, lane = 1, warp = 2, block = 3 };

struct LinearLayout {
  static constexpr int kInDims = 4;
  static constexpr int kMaxRank = 5;
  static constexpr int kMaxBits = 40;  ///< of all inputs together, and of all coordinates together

  int32_t rank = 0;
  int32_t out_bits[kMaxRank] = {};  ///< log2 of each dimension's extent
  int32_t in_bits[kInDims] = {};
  uint64_t column[kMaxBits] = {};  ///< registers' first, then lanes', warps', blocks'

  int first(InDim dim) const;  ///< index of the first column of an input
  int bits(InDim dim) const { return in_bits[static_cast<int>(dim)]; }
  int total_in() const { return in_bits[0] + in_bits[1] + in_bits[2] + in_bits[3]; }
  int total_out() const;
  int out_shift(int dim) const;
  int64_t coord(uint64_t word, int dim) const;
  uint64_t word(const int64_t* coords) const;
  /// The word of an input number, all its bits in one.
  uint64_t apply(uint64_t input) const;
};

/// Starts an empty layout of a shape of powers of two.
Status make_linear(int rank, const int64_t* shape, LinearLayout* out);
/// Adds one basis behind those of its input; inputs in their order.
Status add_basis(LinearLayout* layout, InDim dim, const int64_t* coords);

/// Triton's BlockedLayout, wrapped or repeated to the shape. `order` lists the dimensions, fastest
/// first.
Status linear_blocked(int rank, const int64_t* shape, const int64_t* size_per_thread,
                      const int64_t* threads_per_warp, const int64_t* warps_per_cta,
                      const int32_t* order, LinearLayout* out);
/// Triton's SliceLayout: one dimension dropped, and with it the registers that moved in it alone.
Status linear_slice(const LinearLayout& parent, int dim, LinearLayout* out);
/// Fitted to another shape: bits that reach beyond it contribute nothing there, and where it is
/// larger further registers repeat the layout, dimension by dimension in `order` (nullptr: 0
/// first).
Status linear_resize(const LinearLayout& layout, const int64_t* shape, const int32_t* order,
                     LinearLayout* out);

/// The same for a shape as a tuple, dimension 0 first.
Status linear_resize(const LinearLayout& layout, const IntTuple& shape, LinearLayout* out);

/// The element of (register, lane, warp, block): one coordinate for each dimension.
Status linear_at(const LinearLayout& layout, const int64_t* input, int64_t* coord);

/// Does a layout of row indices suit tiled gather4: do four registers one behind the other of every
/// thread hold four rows one behind the other, the same in all lanes? ERROR_UNSUPPORTED with the
/// reason where not. @param per_warp instructions that each issuing warp issues. @param warps how
/// many warps issue: where all warps hold the same rows it is one.
Status linear_gather4(const LinearLayout& layout, int64_t* per_warp, int64_t* warps);

/// The shared-memory layout that a tile of rows has by default: the widest swizzle of 128, 64 or 32
/// bytes that the row is a multiple of, none below 8 rows; columns beyond the swizzle's width go
/// into further panels. @param swizzle_bytes the width, 0 for none.
Status default_shared_layout(int64_t rows, int64_t columns, int element_bits, int* swizzle_bytes,
                             Layout* out);

/// `register=[[1],[2]] lane=[[4],[8]] warp=[] block=[] -> (16)`.
Status parse(std::string_view text, LinearLayout* out);
void format(const LinearLayout& layout, Text* out);

}  // namespace tw
