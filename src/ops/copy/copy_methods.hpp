// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of a copy: which shapes each can serve, and its kernel arguments. Pure host code.

#include <cstdint>

#include "kernels/copy/copy.h"
#include "kernels/copy/pieces.h"
#include "ops/common/rows_ring.hpp"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// In bytes. Smaller copies are divided into finer work items, and are expected to fit in L2.
inline constexpr int64_t kSmallCopy = int64_t{1} << 20;

/// Alignment that tensor maps and bulk copies require of addresses and strides, in bytes.
inline constexpr int64_t kCopyAlignment = 16;

/// Fills the arguments of kCopyBoxes except for maps and addresses. Like the functions below,
/// returns false if the shape does not suit: the method needs rows of at least 16 bytes in one to
/// four dimensions, strides that a map can have, and extents below 2^31.
bool fill_boxes(const CopyShape& shape, const PipelineSize& pipeline, CopyBoxArgs* args);
/// Describes the two maps of kCopyBoxes, with address 0.
void describe_boxes(const CopyShape& shape, const CopyBoxArgs& args, TensorMapDesc* src,
                    TensorMapDesc* dst);

/// Fills the arguments of kCopyRows for addresses that both lie `misalignment` bytes past a
/// multiple of 16. The method needs strides that are multiples of 16 bytes, and fewer than 2^31
/// rows. `warps` is the number of warps in the grid.
bool fill_rows(const CopyShape& shape, const PipelineSize& pipeline, uint32_t misalignment,
               uint32_t warps, CopyRowArgs* args);

/// Returns whether source and destination have the same offset modulo 16 in all rows.
bool same_offset_modulo_16(const CopyShape& shape);

/// Fills the arguments of kCopyPieces, or of kCopyShift with `realign`, except for addresses and
/// policies. The destination lies `dst_misalignment` bytes past a multiple of kPieceSector. With
/// `realign`, source and destination may be misaligned relative to each other. The methods need at
/// most seven dimensions of rows, and fewer than 2^31 pieces.
bool fill_pieces(const CopyShape& shape, bool realign, uint32_t dst_misalignment,
                 CopyPieceArgs* args);

/// Fills the arguments of kCopyStrided, which serves any shape, except for the addresses. Both
/// addresses are multiples of `alignment`, at most 16.
void fill_strided(const CopyShape& shape, uint32_t alignment, CopyStridedArgs* args);
/// Returns the unit that fill_strided() uses for that alignment.
uint32_t strided_unit(const CopyShape& shape, uint32_t alignment);

}  // namespace tw
