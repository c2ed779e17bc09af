// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts the rows of many equal operands into tiles (kernels/common/row_tiles.h), and configures the
// launch over them.

#include "kernels/common/row_tiles.h"
#include "ops/common/rows_ring.hpp"
#include "runtime/device.hpp"

namespace tw {

/// Sizes that the plan or the caller chose.
struct TileTuning {
  uint32_t warps = 2;  // per block
  uint32_t stages = 4;
  uint32_t stage_bytes = 2048;  // largest size of a tile
  uint32_t warp_items = 2;      // tiles per warp, after which its block ends
};

/// Cuts `operands` operands of `rows` rows of `row_bytes` bytes, none of them 0. Fails if there are
/// more than 2^62 tiles.
Status cut_tiles(uint64_t operands, uint64_t rows, uint64_t row_bytes, uint32_t tile_bytes,
                 TileCut* out);

/// Returns a launch with blocks of `threads` threads, whose warps process warp_items tiles each. If
/// max_sms is not 0 and that needs more blocks, max_sms blocks take the tiles in turn. Sets
/// *block_items for the kernel's arguments.
LaunchConfig tile_launch(const TileCut& cut, uint32_t threads, uint32_t warp_items,
                         uint32_t max_sms, uint32_t* block_items);

}  // namespace tw
