// SPDX-License-Identifier: Apache-2.0
#pragma once
// How plans cut the rows of many alike operands into tiles (kernels/common/row_tiles.h), and the
// launch that goes over them.

#include "kernels/common/row_tiles.h"
#include "ops/common/rows_ring.hpp"
#include "runtime/device.hpp"

namespace tw {

/// Sizes that a plan chose or was told.
struct TileTuning {
  uint32_t warps = 2;  // of a block
  uint32_t stages = 4;
  uint32_t stage_bytes = 2048;  // of a tile at most
  uint32_t warp_items = 2;      // tiles of a warp, after which its block ends
};

/// `operands` of `rows` rows of `row_bytes`, none of them 0. Fails where tiles exceed 2^62.
Status cut_tiles(uint64_t operands, uint64_t rows, uint64_t row_bytes, uint32_t tile_bytes,
                 TileCut* out);

/// `threads` of a block whose warps take warp_items tiles each; all tiles in turn by max_sms blocks
/// where that is not 0. Says in *block_items what the kernel needs to know of it.
LaunchConfig tile_launch(const TileCut& cut, uint32_t threads, uint32_t warp_items,
                         uint32_t max_sms, uint32_t* block_items);

}  // namespace tw
