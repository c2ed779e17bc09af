// SPDX-License-Identifier: Apache-2.0
// The copy family's rows of the kernel table.
#include "kernels/copy/copy.h"
#include "kernels/copy/copy_host.hpp"
#include "kernels/copy/permute.h"
#include "kernels/parts/table_row.hpp"

namespace tw {
namespace {

#define TW_COPY_BOXES(feature, shard, symbol, rank) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyRingWarps * 32, kCopyBoxes | (rank) << 8)
#define TW_COPY_ROWS(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyRingWarps * 32, kCopyRows)
#define TW_COPY_PERMUTE(feature, shard, symbol, element_bytes) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kPermuteThreads, kCopyPermute | (element_bytes) << 8)
#define TW_COPY_SHIFT(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyShiftThreads, kCopyShift)
#define TW_COPY_STRIDED(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyStridedThreads, kCopyStrided)

constexpr KernelRow kRows[] = {
#include "kernels/copy/kernels.inc"
};

}  // namespace

RowRange copy_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
