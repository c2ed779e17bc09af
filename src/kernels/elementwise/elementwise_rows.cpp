// SPDX-License-Identifier: Apache-2.0
// The elementwise family's rows of the kernel table.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/elementwise_host.hpp"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

#define TW_ELEMENTWISE_VECTORS(feature, shard, symbol, elements, what)   \
  TW_TABLE_ROW(elementwise, feature, shard, symbol, kElementwiseThreads, \
               kElementwiseVectors | (elements) << 8 | (what) << 16)
#define TW_ELEMENTWISE_CONVERT(feature, shard, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, shard, symbol, elements, kElementwiseConvert)
#define TW_ELEMENTWISE_FLOATS(feature, shard, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, shard, symbol, elements, kElementwiseFloats)
#define TW_ELEMENTWISE_WORDS(feature, shard, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, shard, symbol, elements, kElementwiseWords)
#define TW_ELEMENTWISE_STRIDED(feature, shard, symbol) \
  TW_TABLE_ROW(elementwise, feature, shard, symbol, kElementwiseThreads, kElementwiseStrided)

constexpr KernelRow kRows[] = {
#include "kernels/elementwise/kernels.inc"
};

}  // namespace

RowRange elementwise_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
