// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the rows of a wgmma tile go, and their weights.

#include "kernels/gemm/wgmma/stream_write.cuh"
#include "kernels/grouped/grouped_work.cuh"

namespace tw {

/// A warpgroup reads them from memory while its products run, and keeps them in shared memory for
/// its epilogue.
template <class Config>
struct GroupedLines {
  u32 base;
  bool listed;  // false: rows stay in place and have the weight 1
  i32 rows[2];
  float weights[2];

  __device__ __forceinline__ GroupedLines(const GroupedArgs& args, u32 at)
      : base(at), listed(args.out != kRowsInPlace || args.row_weights != 0) {}
  __device__ __forceinline__ void read(const GroupedArgs& args, const GroupedSpot& tile) {
    if (!listed) return;
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      const i32 r = tile.row0 + static_cast<i32>(threadIdx.x % 128) + i * 128;
      rows[i] = r < tile.end ? grouped_d_row(args, r) : -1;
      weights[i] = grouped_row_weight(args, r, rows[i] >= 0);
    }
  }
  __device__ __forceinline__ void put(u32 group) const {
    if (!listed) return;
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
      ptx::shared_store<8>(
          base + (threadIdx.x % 128 + i * 128) * 8,
          static_cast<u64>(__float_as_uint(weights[i])) << 32 | static_cast<u32>(rows[i]));
    stream_staged(group);
  }
  /// The weight of row `at` of the tile, if there are weights.
  __device__ __forceinline__ float weight(u32 at) const {
    return __uint_as_float(ptx::shared_load<4>(base + at * 8 + 4));
  }
  __device__ __forceinline__ float weight_of(const GroupedSpot& tile, i32 r) const {
    return listed ? weight(static_cast<u32>(r - tile.row0)) : 1.0f;
  }
  /// Where row r of the run begins in D; 0: it is not written.
  template <class Out>
  __device__ __forceinline__ u64 row(const GroupedArgs& args, const GroupedSpot& tile,
                                     i32 r) const {
    const i32 to =
        listed ? static_cast<i32>(ptx::shared_load<4>(base + static_cast<u32>(r - tile.row0) * 8))
               : r;
    if (to < 0) return 0;
    return args.d + static_cast<u64>(to * args.d_pitch * static_cast<i64>(Out::kBytes));
  }
};

}  // namespace tw
