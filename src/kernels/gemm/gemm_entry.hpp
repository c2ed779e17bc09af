// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts a kernel entry to the GemmTile that gemm.h's functions take.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/table/kernel_table.hpp"

namespace tw {

constexpr GemmTile gemm_tile(const KernelEntry& entry, int32_t in_bytes, int32_t out_bytes) {
  return {static_cast<u32>(entry.tile[0]), static_cast<u32>(entry.tile[1]),
          static_cast<u32>(entry.tile[2]), entry.variant,
          static_cast<u32>(in_bytes),      static_cast<u32>(out_bytes)};
}

}  // namespace tw
