// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernel entries without a fixed tile, for families whose plans choose the tile.

#include "kernels/table/kernel_table.hpp"

namespace tw {

constexpr KernelEntry table_entry(Family family, FeatureMask feature, const char* symbol,
                                  const char* part, HostBody host, uint32_t threads,
                                  uint32_t variant) {
  return {.family = family,
          .feature = feature,
          .symbol = symbol,
          .image = host ? nullptr : part,
          .host = host,
          .threads = static_cast<int32_t>(threads),
          .tile = {0, 0, 0},
          .stages = 0,
          .cluster = {1, 1},
          .dtypes = {DType{}, DType{}},
          .variant = variant};
}

}  // namespace tw

/// The host body of an entry: the function of its symbol's name for a host entry, else nullptr.
#define TW_HOST_BODY_tma(symbol) nullptr
#define TW_HOST_BODY_gather4(symbol) nullptr
#define TW_HOST_BODY_scatter4(symbol) nullptr
#define TW_HOST_BODY_host(symbol) symbol
#define TW_TABLE_ENTRY(family, feature_, part, symbol, threads, variant)                          \
  table_entry(Family::family, feature::feature_, #symbol, #part, TW_HOST_BODY_##feature_(symbol), \
              threads, variant),
