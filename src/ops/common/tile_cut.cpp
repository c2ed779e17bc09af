// SPDX-License-Identifier: Apache-2.0
#include "ops/common/tile_cut.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"

namespace tw {
namespace {

constexpr uint64_t kMostBlocks = INT32_MAX;  // per grid
constexpr int64_t kMostTiles = int64_t{1} << 62;

int64_t signed_of(uint64_t number) {
  return static_cast<int64_t>(number);
}

}  // namespace

Status cut_tiles(uint64_t operands, uint64_t rows, uint64_t row_bytes, uint32_t tile_bytes,
                 TileCut* out) {
  TileCut cut{};
  cut.rows = rows;
  cut.tile_rows = 1;
  uint64_t parts = 1;
  uint64_t part = row_bytes;
  if (row_bytes <= tile_bytes) {
    cut.tile_rows =
        static_cast<u32>(std::min<uint64_t>({tile_bytes / row_bytes, kTileMaxRows, rows}));
  } else {
    // Parts of equal size, except for the last.
    parts = (row_bytes + tile_bytes - 1) / tile_bytes;
    part = ((row_bytes + parts - 1) / parts + 15) / 16 * 16;
    parts = (row_bytes + part - 1) / part;
  }
  const uint64_t groups = (rows + cut.tile_rows - 1) / cut.tile_rows;
  int64_t operand_tiles = 0;
  int64_t items = 0;
  if (parts > UINT32_MAX || !checked_mul(signed_of(groups), signed_of(parts), &operand_tiles) ||
      !checked_mul(signed_of(operands), operand_tiles, &items) || items > kMostTiles)
    return fail(Code::ERROR_OVERFLOW, {.rule = "tile_count"},
                "%" PRIu64 " operands of %" PRIu64 " rows of %" PRIu64
                " bytes need more than 2^62 tiles",
                operands, rows, row_bytes);
  cut.parts = static_cast<u32>(parts);
  cut.part_bytes = static_cast<u32>(part);
  cut.last_bytes = static_cast<u32>(row_bytes - (parts - 1) * part);
  cut.items = static_cast<u64>(items);
  cut.operand_tiles = static_cast<u64>(operand_tiles);
  const bool small = cut.items < kDividerLimit;
  cut.operand_divider = make_divider(small ? static_cast<u32>(cut.operand_tiles) : 1);
  cut.part_divider = make_divider(small ? cut.parts : 1);
  *out = cut;
  return {};
}

LaunchConfig tile_launch(const TileCut& cut, uint32_t threads, uint32_t warp_items,
                         uint32_t max_sms, uint32_t* block_items) {
  const uint64_t warps = threads / 32;
  const uint64_t per_block = warps * warp_items;
  LaunchConfig config;
  config.block[0] = threads;
  uint64_t blocks = (cut.items + per_block - 1) / per_block;
  // Blocks that end soon use memory in order. If the grid is limited, blocks take tiles in turn.
  const uint64_t maximum = max_sms == 0 ? kMostBlocks : max_sms;
  *block_items = blocks <= maximum ? static_cast<uint32_t>(per_block) : 0;
  config.grid[0] = static_cast<uint32_t>(std::clamp<uint64_t>(blocks, 1, maximum));
  return config;
}

}  // namespace tw
