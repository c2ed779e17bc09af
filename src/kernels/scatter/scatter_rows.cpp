// SPDX-License-Identifier: Apache-2.0
// The scatter family's rows of the kernel table.
#include "kernels/parts/table_row.hpp"
#include "kernels/scatter/scatter.h"
#include "kernels/scatter/scatter_host.hpp"

namespace tw {
namespace {

#define TW_SCATTER_BULK(feature, shard, symbol) \
  TW_TABLE_ROW(scatter, feature, shard, symbol, kRowsMaxRingWarps * 32, kRowsBulk)
#define TW_SCATTER_SHIFT(feature, shard, symbol) \
  TW_TABLE_ROW(scatter, feature, shard, symbol, kRowsPlainThreads, kRowsShift)
#define TW_SCATTER_PLAIN(feature, shard, symbol) \
  TW_TABLE_ROW(scatter, feature, shard, symbol, kRowsPlainThreads, kRowsPlain)

#define TW_SCATTER_NARROW(feature, shard, symbol) \
  TW_TABLE_ROW(scatter, feature, shard, symbol, kRowsPlainThreads, kRowsNarrow)

constexpr KernelRow kRows[] = {
#include "kernels/scatter/kernels.inc"
};

}  // namespace

RowRange scatter_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
