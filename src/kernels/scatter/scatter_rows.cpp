// SPDX-License-Identifier: Apache-2.0
// The scatter family's rows of the kernel table.
#include "kernels/scatter/scatter.h"
#include "kernels/scatter/scatter_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_SCATTER(feature, shard, symbol, threads, variant) \
  TW_TABLE_ROW(scatter, feature, shard, symbol, threads, variant)
#define TW_SCATTER_BULK(...) TW_SCATTER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsBulk)
#define TW_SCATTER_SHIFT(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsShift)
#define TW_SCATTER_FOUR(...) TW_SCATTER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsFour)
#define TW_SCATTER_STAGED(...) TW_SCATTER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsStaged)
#define TW_SCATTER_FEW(...) TW_SCATTER(__VA_ARGS__, kRowsFewThreads, kRowsFew)
#define TW_SCATTER_PLAIN(...) TW_SCATTER(__VA_ARGS__, kRowsLinearThreads, kRowsPlain)
#define TW_SCATTER_BULK_REDUCE(...) TW_SCATTER(__VA_ARGS__, kRowsMaxRingWarps * 32, kRowsBulkReduce)
#define TW_SCATTER_REDUCE(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsReduce)
#define TW_SCATTER_SORTED(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsSorted)
#define TW_SCATTER_OUTSIDE(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsOutside)
#define TW_SCATTER_CLEAR(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsClear)
#define TW_SCATTER_MARK(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsMark)
#define TW_SCATTER_COUNT(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsCount)
#define TW_SCATTER_SCAN(...) TW_SCATTER(__VA_ARGS__, kRowsScanThreads, kRowsScan)
#define TW_SCATTER_PLACE(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsPlace)
#define TW_SCATTER_SEGMENT(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsSegment)
#define TW_SCATTER_JOIN(...) TW_SCATTER(__VA_ARGS__, kRowsPlainThreads, kRowsJoin)

constexpr KernelRow kRows[] = {
#include "kernels/scatter/kernels.inc"
};

}  // namespace

RowRange scatter_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
