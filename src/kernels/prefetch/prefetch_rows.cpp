// SPDX-License-Identifier: Apache-2.0
// The prefetch family's rows of the kernel table.
#include "kernels/prefetch/prefetch.h"
#include "kernels/prefetch/prefetch_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_PREFETCH_BOXES(feature, shard, symbol) \
  TW_TABLE_ROW(prefetch, feature, shard, symbol, kPrefetchThreads, kPrefetchBoxes)
#define TW_PREFETCH_ROWS(feature, shard, symbol) \
  TW_TABLE_ROW(prefetch, feature, shard, symbol, kPrefetchThreads, kPrefetchRows)

constexpr KernelRow kRows[] = {
#include "kernels/prefetch/kernels.inc"
};

}  // namespace

RowRange prefetch_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
