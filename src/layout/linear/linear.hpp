// SPDX-License-Identifier: Apache-2.0
#pragma once
// LinearLayout: Triton's linear layout, which maps (register, lane, warp, block) to the element of
// a tensor that is held there.
//
// Each bit of the input numbers has a basis: the coordinates that it contributes. The bases of all
// set bits are combined by XOR. Extents are powers of two. The layout is thus a matrix over GF(2)
// with the bases as its columns.
//
// A column packs the coordinates into one word, dimension 0 in the lowest bits. The word of an
// element is therefore also its colexicographic number. A LinearLayout is a plain value without
// heap memory.

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/text.hpp"

namespace tw {

/// The inputs. reg has the lowest bits of an input number.
enum class InDim : int { reg = 0, lane = 1, warp = 2, block = 3 };

struct LinearLayout {
  static constexpr int kInDims = 4;
  static constexpr int kMaxRank = 5;
  static constexpr int kMaxBits = 40;  ///< limit for all inputs, and for all coordinates together

  int32_t rank = 0;
  int32_t out_bits[kMaxRank] = {};  ///< log2 of each dimension's extent
  int32_t in_bits[kInDims] = {};
  uint64_t column[kMaxBits] = {};  ///< registers first, then lanes, warps, blocks

  int first(InDim dim) const;  ///< index of an input's first column
  int bits(InDim dim) const { return in_bits[static_cast<int>(dim)]; }
  int total_in() const { return in_bits[0] + in_bits[1] + in_bits[2] + in_bits[3]; }
  int total_out() const;
  int out_shift(int dim) const;
  int64_t coord(uint64_t word, int dim) const;
  uint64_t word(const int64_t* coords) const;
  /// The word of the element for an input number, which has the bits of all inputs.
  uint64_t apply(uint64_t input) const;
};

/// Makes a layout without bases. Extents must be powers of two.
Status make_linear(int rank, const int64_t* shape, LinearLayout* out);
/// Adds a basis for the next higher bit of an input.
Status add_basis(LinearLayout* layout, InDim dim, const int64_t* coords);

/// Triton's BlockedLayout, truncated or repeated to fit the shape. `order` lists the dimensions,
/// fastest first.
Status linear_blocked(int rank, const int64_t* shape, const int64_t* size_per_thread,
                      const int64_t* threads_per_warp, const int64_t* warps_per_cta,
                      const int32_t* order, LinearLayout* out);
/// Triton's SliceLayout: drops one dimension, and the register bits that only move along it.
Status linear_slice(const LinearLayout& parent, int dim, LinearLayout* out);
/// Fits the layout to another shape. Along smaller dimensions, bits that reach beyond the shape
/// contribute nothing. Along larger ones, additional registers repeat the layout, dimension by
/// dimension in `order` (nullptr: 0 first).
Status linear_resize(const LinearLayout& layout, const int64_t* shape, const int32_t* order,
                     LinearLayout* out);

/// The same. Additional registers repeat the layout along dimension 0 first.
Status linear_resize(const LinearLayout& layout, const IntTuple& shape, LinearLayout* out);

/// Computes the element of (register, lane, warp, block): one coordinate per dimension.
Status linear_at(const LinearLayout& layout, const int64_t* input, int64_t* coord);

/// Checks that a layout of row indices suits tiled gather4: four consecutive registers of each
/// thread must hold four consecutive rows, the same in all lanes. Fails with ERROR_UNSUPPORTED and
/// the reason. `per_warp` is the number of instructions per issuing warp, `warps` the number of
/// warps that issue; warps with the same rows count once.
Status linear_gather4(const LinearLayout& layout, int64_t* per_warp, int64_t* warps);

/// The default shared memory layout of a tile: rows with the widest swizzle of 128, 64 or 32 bytes
/// that divides a row, or without swizzle below 8 rows. Columns beyond the swizzle's width go into
/// further panels. `swizzle_bytes` is the width, 0 for none.
Status default_shared_layout(int64_t rows, int64_t columns, int element_bits, int* swizzle_bytes,
                             Layout* out);

/// The text form is `register=[[1],[2]] lane=[[4],[8]] warp=[] block=[] -> (16)`.
Status parse(std::string_view text, LinearLayout* out);
void format(const LinearLayout& layout, Text* out);

}  // namespace tw
