// SPDX-License-Identifier: Apache-2.0
// The copies family's rows of the kernel table.
#include "kernels/copies/copies.h"
#include "kernels/copies/copies_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_COPIES_BULK(feature, shard, symbol) \
  TW_TABLE_ROW(copies, feature, shard, symbol, kTileRingWarps * 32, kCopiesBulk)
#define TW_COPIES_PLAIN(feature, shard, symbol) \
  TW_TABLE_ROW(copies, feature, shard, symbol, kTilePlainThreads, kCopiesPlain)
#define TW_COPIES_SKIPPED(feature, shard, symbol) \
  TW_TABLE_ROW(copies, feature, shard, symbol, kTilePlainThreads, kCopiesSkipped)

constexpr KernelRow kRows[] = {
#include "kernels/copies/kernels.inc"
};

}  // namespace

RowRange copies_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
