// SPDX-License-Identifier: Apache-2.0
// The gather family's rows of the kernel table.
#include "kernels/gather/gather.h"
#include "kernels/gather/gather_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_GATHER(feature, shard, symbol, threads, variant) \
  TW_TABLE_ROW(gather, feature, shard, symbol, threads, variant)
#define TW_GATHER_BULK(...) TW_GATHER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsBulk)
#define TW_GATHER_SHIFT(...) TW_GATHER(__VA_ARGS__, kRowsPlainThreads, kRowsShift)
#define TW_GATHER_FOUR(...) TW_GATHER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsFour)
#define TW_GATHER_STAGED(...) TW_GATHER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsStaged)
#define TW_GATHER_FEW(...) TW_GATHER(__VA_ARGS__, kRowsFewThreads, kRowsFew)
#define TW_GATHER_PLAIN(...) TW_GATHER(__VA_ARGS__, kRowsLinearThreads, kRowsPlain)
#define TW_GATHER_SUM(...) TW_GATHER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsSum)
#define TW_GATHER_SUM_PLAIN(...) TW_GATHER(__VA_ARGS__, kRowsPlainThreads, kRowsSumPlain)
#define TW_GATHER_MARGIN(...) TW_GATHER(__VA_ARGS__, kRowsPlainThreads, kRowsMargin)
#define TW_GATHER_OUTSIDE(...) TW_GATHER(__VA_ARGS__, kRowsPlainThreads, kRowsOutside)

constexpr KernelRow kRows[] = {
#include "kernels/gather/kernels.inc"
};

}  // namespace

RowRange gather_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
