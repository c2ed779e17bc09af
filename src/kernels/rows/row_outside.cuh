// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds the number of indices without a row to a 64-bit counter.

#include "kernels/ptx/reduce.cuh"
#include "kernels/rows/row_index.cuh"
#include "kernels/rows/row_steps.h"

namespace tw {

__device__ __forceinline__ void rows_outside(const OutsideArgs& args) {
  const u64 indices = static_cast<u64>(run_count(args.rows)) * args.rows.group;
  const u64 step = static_cast<u64>(gridDim.x) * kRowsBlockThreads;
  u32 outside = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * kRowsBlockThreads + threadIdx.x; i < indices;
       i += step) {
    const i64 index = load_index(args.rows.index, args.rows.index_bytes, i);
    outside += checked_row(index, args.rows.table_rows) < 0 ? 1 : 0;
  }
  outside = __reduce_add_sync(0xffffffffu, outside);
  if (ptx::lane_id() == 0 && outside != 0)
    ptx::reduce_add_u64(args.counter, static_cast<u64>(outside));
}

}  // namespace tw
