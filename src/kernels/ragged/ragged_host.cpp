// SPDX-License-Identifier: Apache-2.0
// Host bodies of the ragged kernels: tile by tile, in the order of their numbers. The family's
// kernel entries are at the end.
#include "kernels/ragged/ragged_host.hpp"

#include "kernels/common/row_tiles_host.hpp"
#include "kernels/ragged/ragged.h"
#include "kernels/table/table_entry.hpp"

namespace tw {

i64 ragged_offset_host(const RaggedArgs& args, u64 i) {
  const auto* from = reinterpret_cast<const uint8_t*>(args.offsets) + i * args.offset_bytes;
  int32_t narrow = 0;
  i64 wide = 0;
  if (args.offset_bytes == 8) {
    std::memcpy(&wide, from, 8);
    return wide;
  }
  std::memcpy(&narrow, from, 4);
  return narrow;
}

namespace {

RowTile tile_of(const RaggedArgs& args, u64 number) {
  return ragged_tile(args, number, [&](u64 i) { return ragged_offset_host(args, i); });
}

void fill_shared(HostEngine& engine, const RaggedArgs& args, u32 from, u32 to) {
  fill_host(engine.shared() + from, to - from, args.fill, 0);
}

void ragged_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const RaggedArgs*>(arguments);
  for (u64 number = 0; number < args.cut.items; ++number) {
    const RowTile tile = tile_of(args, number);
    load_tile_host(engine, tile);
    if (args.unpad != 0) {
      store_tile_host(engine, tile, tile.begin, tile.end);
      continue;
    }
    fill_shared(engine, args, 0, tile.begin * tile.bytes);
    fill_shared(engine, args, tile.end * tile.bytes, tile.rows * tile.bytes);
    store_tile_host(engine, tile, 0, tile.rows);
  }
}

void ragged_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const RaggedArgs*>(arguments);
  for (u64 number = 0; number < args.cut.items; ++number) {
    const RowTile tile = tile_of(args, number);
    if (tile.begin != tile.end) copy_tile_pieces_host(moved_rows(tile));
    if (args.unpad != 0) continue;
    if (tile.begin != 0) fill_tile_pieces_host(unmoved_rows(tile, 0, tile.begin), args.fill);
    if (tile.end != tile.rows)
      fill_tile_pieces_host(unmoved_rows(tile, tile.end, tile.rows), args.fill);
  }
}

void ragged_faults_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const RaggedArgs*>(arguments);
  u64 count = 0;
  for (u64 i = 0; i < args.batch; ++i)
    count +=
        checked_sequence(ragged_offset_host(args, i), ragged_offset_host(args, i + 1), args.tokens)
                .invalid
            ? 1
            : 0;
  *reinterpret_cast<u64*>(args.invalid_count) += count;
}

#define TW_RAGGED_BULK(feature, part, symbol) \
  TW_TABLE_ENTRY(ragged, feature, part, symbol, kTilePipelineWarps * 32, kRaggedBulk)
#define TW_RAGGED_PLAIN(feature, part, symbol) \
  TW_TABLE_ENTRY(ragged, feature, part, symbol, kTilePlainThreads, kRaggedPlain)
#define TW_RAGGED_COUNT_INVALID(feature, part, symbol) \
  TW_TABLE_ENTRY(ragged, feature, part, symbol, kTilePlainThreads, kRaggedCountInvalid)

constexpr KernelEntry kEntries[] = {
#include "kernels/ragged/kernels.inc"
};

}  // namespace

KernelEntries ragged_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
