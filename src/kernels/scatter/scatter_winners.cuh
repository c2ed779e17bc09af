// SPDX-License-Identifier: Apache-2.0
#pragma once
// Determines the last of all indices that name a row, in two passes (clear, then maximum). The
// kernels that move rows read the result through table_row_of().

#include "kernels/rows/row_index.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

template <bool kMark>
__device__ __forceinline__ void scatter_winners(const ScatterArgs& args) {
  const u64 count = static_cast<u64>(run_count(args));
  const u64 step = static_cast<u64>(gridDim.x) * kRowsBlockThreads;
  for (u64 i = static_cast<u64>(blockIdx.x) * kRowsBlockThreads + threadIdx.x; i < count;
       i += step) {
    const i64 row = checked_row(load_index(args.index, args.index_bytes, i), args.table_rows);
    if (row < 0) continue;
    auto* winner = reinterpret_cast<u32*>(args.winners) + row;
    if (kMark)
      atomicMax(winner, static_cast<u32>(i));
    else
      *winner = 0;
  }
}

}  // namespace tw
