// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of a copy: for which shapes each is, and the kernel arguments it takes. Pure host
// code apart from the encoding of maps, which is the device's.

#include <cstdint>

#include "kernels/copy/copy.h"
#include "kernels/copy/pieces.h"
#include "ops/common/rows_ring.hpp"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Copies of fewer bytes than this are cut finer, and are for the cache to keep.
inline constexpr int64_t kSmallCopy = int64_t{1} << 20;

/// What tensor maps and bulk copies need of addresses and strides.
inline constexpr int64_t kCopyAlignment = 16;

/// Boxes: rows of 16 bytes and more in one to four dimensions, strides that maps can have, extents
/// below 2^31. Fills all but the maps and the address.
bool fill_boxes(const CopyShape& shape, const RingSize& ring, CopyBoxArgs* args);
/// The two maps' descriptions for such arguments, at address 0.
void describe_boxes(const CopyShape& shape, const CopyBoxArgs& args, TensorMapDesc* src,
                    TensorMapDesc* dst);

/// Rows: strides that are multiples of 16 bytes, fewer than 2^31 rows. Fills everything for
/// addresses that both lie `misalignment` bytes past a multiple of 16; `warps` is how many work.
bool fill_rows(const CopyShape& shape, const RingSize& ring, uint32_t misalignment, uint32_t warps,
               CopyRowArgs* args);

/// Whether rows whose first addresses are alike modulo 16 all are.
bool alike_modulo_16(const CopyShape& shape);

/// Pieces of 16 bytes, with `realign` where source and destination may be misaligned against each
/// other: at most seven dimensions of rows, fewer than 2^31 pieces. Fills all but addresses and
/// policies, for a destination that lies `dst_misalignment` bytes past a multiple of kPieceSector.
bool fill_pieces(const CopyShape& shape, bool realign, uint32_t dst_misalignment,
                 CopyPieceArgs* args);

/// Plain loads and stores: everything. `alignment` is what the two addresses have in common, at
/// most
/// 16. Fills all but the addresses.
void fill_strided(const CopyShape& shape, uint32_t alignment, CopyStridedArgs* args);
/// The unit that fill_strided() takes for addresses of that alignment.
uint32_t strided_unit(const CopyShape& shape, uint32_t alignment);

}  // namespace tw
