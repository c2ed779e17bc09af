// SPDX-License-Identifier: Apache-2.0
// The gather family's rows of the kernel table.
#include "kernels/gather/gather.h"
#include "kernels/gather/gather_host.hpp"
#include "kernels/parts/table_row.hpp"

namespace tw {
namespace {

#define TW_GATHER_BULK(feature, shard, symbol) \
  TW_TABLE_ROW(gather, feature, shard, symbol, kRowsMaxRingWarps * 32, kRowsBulk)
#define TW_GATHER_SHIFT(feature, shard, symbol) \
  TW_TABLE_ROW(gather, feature, shard, symbol, kRowsPlainThreads, kRowsShift)
#define TW_GATHER_PLAIN(feature, shard, symbol) \
  TW_TABLE_ROW(gather, feature, shard, symbol, kRowsPlainThreads, kRowsPlain)

#define TW_GATHER_NARROW(feature, shard, symbol) \
  TW_TABLE_ROW(gather, feature, shard, symbol, kRowsPlainThreads, kRowsNarrow)

constexpr KernelRow kRows[] = {
#include "kernels/gather/kernels.inc"
};

}  // namespace

RowRange gather_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
