// SPDX-License-Identifier: Apache-2.0
// The copy family's rows of the kernel table.
#include "kernels/copy/copy.h"
#include "kernels/copy/copy_host.hpp"
#include "kernels/copy/interleave.h"
#include "kernels/copy/permute.h"
#include "kernels/copy/pieces.h"
#include "kernels/copy/transpose.h"
#include "kernels/table/table_row.hpp"

namespace tw {
namespace {

// A tile of vectors along the source's and the destination's inner dimension.
constexpr KernelRow with_tile(KernelRow row, u32 a, u32 b) {
  row.tile[0] = static_cast<int32_t>(a);
  row.tile[1] = static_cast<int32_t>(b);
  return row;
}

#define TW_COPY_BOXES(feature, shard, symbol, rank) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyRingWarps * 32, kCopyBoxes | (rank) << 8)
#define TW_COPY_ROWS(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyRingWarps * 32, kCopyRows)
#define TW_COPY_PERMUTE(feature, shard, symbol, element_bytes) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kPermuteThreads, kCopyPermute | (element_bytes) << 8)
#define TW_COPY_TRANSPOSE(feature_, shard, symbol, bytes, lanes_a, warps_a, cells_a, cells_b)     \
  with_tile(                                                                                      \
      table_row(Family::copy, feature::feature_, #symbol, shard, TW_HOST_BODY_##feature_(symbol), \
                kTransposeThreads, kCopyTranspose | (bytes) << 8),                                \
      (lanes_a) * (warps_a) * (cells_a), kTransposeThreads / ((lanes_a) * (warps_a)) * (cells_b)),
#define TW_COPY_TRANSPOSE_SMALL(feature_, shard, symbol, bytes)                                   \
  with_tile(                                                                                      \
      table_row(Family::copy, feature::feature_, #symbol, shard, TW_HOST_BODY_##feature_(symbol), \
                kSmallTransposeThreads, kCopyTranspose | (bytes) << 8 | 1 << 16),                 \
      8, 4),
#define TW_COPY_TRANSPOSE_PLAIN(feature_, shard, symbol, bytes)                                   \
  with_tile(                                                                                      \
      table_row(Family::copy, feature::feature_, #symbol, shard, TW_HOST_BODY_##feature_(symbol), \
                kTransposeThreads, kCopyTransposePlain | (bytes) << 8),                           \
      transpose_edge(bytes), transpose_edge(bytes)),
#define TW_COPY_INTERLEAVE(feature, shard, symbol, bytes, planes)        \
  TW_TABLE_ROW(copy, feature, shard, symbol, interleave_threads(planes), \
               kCopyInterleave | (bytes) << 8 | (planes) << 16)
#define TW_COPY_DEINTERLEAVE(feature, shard, symbol, bytes, planes)      \
  TW_TABLE_ROW(copy, feature, shard, symbol, interleave_threads(planes), \
               kCopyInterleave | (bytes) << 8 | (kToPlanes | (planes)) << 16)
#define TW_COPY_PIECES(feature, shard, symbol, flight) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kPieceThreads, kCopyPieces | (flight) << 8)
#define TW_COPY_SHIFT(feature, shard, symbol, flight) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kPieceThreads, kCopyShift | (flight) << 8)
#define TW_COPY_STRIDED(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyStridedThreads, kCopyStrided)
#define TW_COPY_FILL(feature, shard, symbol) \
  TW_TABLE_ROW(copy, feature, shard, symbol, kCopyStridedThreads, kCopyFill)

constexpr KernelRow kRows[] = {
#include "kernels/copy/kernels.inc"
};

}  // namespace

RowRange copy_rows() {
  return {kRows, kRows + sizeof kRows / sizeof kRows[0]};
}

}  // namespace tw
