// SPDX-License-Identifier: Apache-2.0
#pragma once
// A few long rows, which take two or three microseconds: a thread a unit, an index a block, no
// division, and parameters that lie in one or two lines of the constant cache, each of which is a
// miss in a row at the beginning.

#include "kernels/parts/row_index.cuh"
#include "kernels/parts/row_steps.h"

namespace tw {

template <bool kGather>
__device__ __forceinline__ void rows_few(const FewArgs& args) {
  const u32 unit = blockIdx.y * blockDim.x + threadIdx.x;
  const i64 row =
      checked_row(load_index(args.index, args.index_bytes, blockIdx.x), args.table_rows);
  if (unit >= args.row_units || (!kGather && row == kNoRow)) return;
  const u64 inside = static_cast<u64>(unit) * 16;
  const u64 packed = args.packed + blockIdx.x * static_cast<u64>(args.packed_pitch) + inside;
  const u64 table = args.table + static_cast<u64>(row * args.table_pitch) + inside;
  uint4 value{};
  if (row != kNoRow) value = ptx::load_unit<16>(kGather ? table : packed);
  ptx::store_unit<16>(kGather ? packed : table, value);
}

}  // namespace tw
