// SPDX-License-Identifier: Apache-2.0
// The ragged family's rows of the kernel table.
#include "kernels/ragged/ragged.h"
#include "kernels/ragged/ragged_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_RAGGED_BULK(feature, shard, symbol) \
  TW_TABLE_ROW(ragged, feature, shard, symbol, kTileRingWarps * 32, kRaggedBulk)
#define TW_RAGGED_PLAIN(feature, shard, symbol) \
  TW_TABLE_ROW(ragged, feature, shard, symbol, kTilePlainThreads, kRaggedPlain)
#define TW_RAGGED_FAULTS(feature, shard, symbol) \
  TW_TABLE_ROW(ragged, feature, shard, symbol, kTilePlainThreads, kRaggedFaults)

constexpr KernelRow kRows[] = {
#include "kernels/ragged/kernels.inc"
};

}  // namespace

RowRange ragged_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
