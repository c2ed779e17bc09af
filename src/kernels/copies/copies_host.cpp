// SPDX-License-Identifier: Apache-2.0
// Host bodies of the copies kernels: tile by tile, in the order of their numbers. The family's
// kernel entries are at the end.
#include "kernels/copies/copies_host.hpp"

#include "kernels/common/row_tiles_host.hpp"
#include "kernels/copies/copies.h"
#include "kernels/table/table_entry.hpp"

namespace tw {

u64 listed_address_host(u64 list, u64 pair) {
  u64 address = 0;
  std::memcpy(&address, reinterpret_cast<const uint8_t*>(list) + pair * 8, 8);
  return address;
}

namespace {

void copies_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopiesArgs*>(arguments);
  for (u64 number = 0; number < args.cut.items; ++number) {
    const RowTile rows = copies_tile(args, number, listed_address_host).rows;
    if (tile_suits_bulk(rows)) {
      load_tile_host(engine, rows);
      store_tile_host(engine, rows, 0, rows.rows);
    } else {
      copy_tile_pieces_host(rows);
    }
  }
}

void copies_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopiesArgs*>(arguments);
  for (u64 number = 0; number < args.cut.items; ++number)
    copy_tile_pieces_host(copies_tile(args, number, listed_address_host).rows);
}

void copies_skipped_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopiesArgs*>(arguments);
  u64 skipped = 0;
  for (u64 i = 0; i < args.pairs; ++i)
    skipped += copies_pair(args, listed_address_host(args.src_list, i),
                           listed_address_host(args.dst_list, i))
                   ? 0
                   : 1;
  *reinterpret_cast<u64*>(args.invalid_count) += skipped;
}

#define TW_COPIES_BULK(feature, part, symbol) \
  TW_TABLE_ENTRY(copies, feature, part, symbol, kTilePipelineWarps * 32, kCopiesBulk)
#define TW_COPIES_PLAIN(feature, part, symbol) \
  TW_TABLE_ENTRY(copies, feature, part, symbol, kTilePlainThreads, kCopiesPlain)
#define TW_COPIES_SKIPPED(feature, part, symbol) \
  TW_TABLE_ENTRY(copies, feature, part, symbol, kTilePlainThreads, kCopiesSkipped)

constexpr KernelEntry kEntries[] = {
#include "kernels/copies/kernels.inc"
};

}  // namespace

KernelEntries copies_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
