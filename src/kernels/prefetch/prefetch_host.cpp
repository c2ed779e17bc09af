// SPDX-License-Identifier: Apache-2.0
// Host bodies of the prefetch kernels. They move nothing; the engine counts and checks the
// requests. The family's kernel entries are at the end.
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/prefetch/prefetch.h"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

void prefetch_boxes_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const PrefetchBoxArgs*>(arguments);
  TensorMapBytes map;
  std::memcpy(map.words, args.map.words, sizeof map.words);
  for (u64 tile = 0; tile < args.tiles; ++tile) {
    const int32_t at[2] = {static_cast<int32_t>(tile % args.tiles_x * args.box[0]),
                           static_cast<int32_t>(tile / args.tiles_x * args.box[1])};
    engine.prefetch(map, at);
  }
}

void prefetch_rows_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const PrefetchRowArgs*>(arguments);
  for (u64 row = 0; row < args.rows; ++row) {
    const u64 address = prefetch_row(args, row);
    for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
      const PrefetchChunk part = prefetch_chunk(address, args.row_bytes, args.chunk_bytes, chunk);
      if (part.bytes != 0) engine.prefetch_bulk(part.from, part.bytes);
    }
  }
}

#define TW_PREFETCH_BOXES(feature, part, symbol) \
  TW_TABLE_ENTRY(prefetch, feature, part, symbol, kPrefetchThreads, kPrefetchBoxes)
#define TW_PREFETCH_ROWS(feature, part, symbol) \
  TW_TABLE_ENTRY(prefetch, feature, part, symbol, kPrefetchThreads, kPrefetchRows)

constexpr KernelEntry kEntries[] = {
#include "kernels/prefetch/kernels.inc"
};

}  // namespace

KernelEntries prefetch_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
