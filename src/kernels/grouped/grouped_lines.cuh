// SPDX-License-Identifier: Apache-2.0
#pragma once
// The address in D of each row of the run that a wgmma tile computes, and the row's weight. Because
// of swap-AB these rows are the columns of the tile.

#include "kernels/gemm/wgmma/stream_write.cuh"
#include "kernels/grouped/grouped_work.cuh"

namespace tw {

/// A consumer warpgroup reads the rows of D and the weights from global memory before its main
/// loop, which hides the latency. Then it puts them into its own shared memory for the epilogue.
struct GroupedRowTargets {
  u32 base;
  bool has_table;  // false: row r goes to row r of D with a weight of 1
  i32 rows[2];
  float weights[2];

  __device__ __forceinline__ GroupedRowTargets(const GroupedArgs& args, u32 smem_address)
      : base(smem_address), has_table(args.row_output != kRowsInPlace || args.row_weights != 0) {}
  __device__ __forceinline__ void read(const GroupedArgs& args, const GroupedWgmmaTile& tile) {
    if (!has_table) return;
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      const i32 r = tile.row0 + static_cast<i32>(threadIdx.x % 128) + i * 128;
      rows[i] = r < tile.row_end ? grouped_d_row(args, r) : -1;
      weights[i] = grouped_row_weight(args, r, rows[i] >= 0);
    }
  }
  __device__ __forceinline__ void put(u32 group) const {
    if (!has_table) return;
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
      ptx::shared_store<8>(
          base + (threadIdx.x % 128 + i * 128) * 8,
          static_cast<u64>(__float_as_uint(weights[i])) << 32 | static_cast<u32>(rows[i]));
    stream_sync_group(group);
  }
  /// The weight of the run's row that is `row` rows after the tile's first one; only if has_table.
  __device__ __forceinline__ float weight(u32 row) const {
    return __uint_as_float(ptx::shared_load<4>(base + row * 8 + 4));
  }
  __device__ __forceinline__ float weight_of(const GroupedWgmmaTile& tile, i32 r) const {
    return has_table ? weight(static_cast<u32>(r - tile.row0)) : 1.0f;
  }
  /// The row of D for row r of the run; negative: the row is not written.
  __device__ __forceinline__ i32 row(const GroupedWgmmaTile& tile, i32 r) const {
    if (!has_table) return r;
    return static_cast<i32>(ptx::shared_load<4>(base + static_cast<u32>(r - tile.row0) * 8));
  }
  /// Address in D of row r of the run; 0: the row is not written. D's elements have `bytes` bytes.
  __device__ __forceinline__ u64 address(const GroupedArgs& args, const GroupedWgmmaTile& tile,
                                         i32 r, i64 bytes) const {
    const i32 to = row(tile, r);
    if (to < 0) return 0;
    return args.d + static_cast<u64>(to * args.d_pitch * bytes);
  }
};

}  // namespace tw
