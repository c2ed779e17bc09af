// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves a few long rows. Copying the data takes 1 to 2 us, less than launching a kernel and reading
// its parameters and instructions. So both are kept small: one index per block, one or two units
// per thread, no division, no branch on the index type. The parameters fill one or two lines of the
// constant cache, and each line is a serial miss at the start.
//
// The kernel lets the dependent grid launch at once, and itself waits for the predecessor grid.
// Since that grid may write the operands, the loads are not those for constant data.

#include "kernels/ptx/global_own.cuh"
#include "kernels/rows/row_index.cuh"
#include "kernels/rows/row_steps.h"

namespace tw {

/// Reads an index as 32-bit words. The upper word is loaded only for 8-byte indices.
__device__ __forceinline__ i64 load_index_words(u64 address, u32 index_bytes, u64 i) {
  const u64 at = address + i * index_bytes;
  const u32 low = ptx::load_after_wait<4>(at);
  const u32 sign = static_cast<u32>(static_cast<i32>(low) >> 31);
  const u32 high = ptx::load_word_after_wait(index_bytes == 8, at + 4, sign);
  return static_cast<i64>(static_cast<u64>(high) << 32 | low);
}

template <bool kGather>
__device__ __forceinline__ void rows_few(const FewArgs& args) {
  ptx::grid_dependency_launch();
  ptx::grid_dependency_wait();
  const i64 row =
      checked_row(load_index_words(args.index, args.index_bytes, blockIdx.x), args.table_rows);
  const u64 packed = args.packed + blockIdx.x * static_cast<u64>(args.packed_pitch);
  const u64 table = args.table + static_cast<u64>(row * args.table_pitch);
  const u32 first = blockIdx.y * (blockDim.x * kRowsFewFlight) + threadIdx.x;
  uint4 value[kRowsFewFlight];
#pragma unroll
  for (u32 k = 0; k < kRowsFewFlight; ++k) {
    const u32 unit = first + k * blockDim.x;
    value[k] = uint4{};
    if (unit < args.row_units && (!kGather || row != kNoRow))
      value[k] = ptx::load_after_wait<16>((kGather ? table : packed) + unit * 16ull);
  }
  if (!kGather && row == kNoRow) return;
#pragma unroll
  for (u32 k = 0; k < kRowsFewFlight; ++k) {
    const u32 unit = first + k * blockDim.x;
    if (unit < args.row_units)
      ptx::store_unit<16>((kGather ? packed : table) + unit * 16ull, value[k]);
  }
}

}  // namespace tw
