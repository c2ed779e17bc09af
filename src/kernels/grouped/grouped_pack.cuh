// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies gathered rows into contiguous ones, for products that load each row so often that the copy
// saves time.

#include "kernels/grouped/grouped.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

/// A warp copies a row at a time, in pieces of 16 bytes per lane.
__device__ __forceinline__ void grouped_pack(const GroupedArgs& args) {
  constexpr u32 kWarps = grouped_step_threads(kGroupedPack) / 32;
  constexpr i32 kTogether = 8;
  ptx::grid_dependency_wait_and_launch();
  const i32 pieces = args.k / 8;
  for (i64 r = i64{blockIdx.x} * kWarps + threadIdx.x / 32; r < args.m;
       r += i64{gridDim.x} * kWarps) {
    const i32 row = grouped_a_row(args, static_cast<i32>(r));
    const auto* const from =
        reinterpret_cast<const uint4*>(args.a) + (row < 0 ? 0 : row) * (args.a_pitch / 8);
    auto* const to = reinterpret_cast<uint4*>(args.d) + r * pieces;
#pragma unroll 1
    for (auto first = static_cast<i32>(ptx::lane_id()); first < pieces; first += 32 * kTogether) {
      uint4 v[kTogether];
#pragma unroll
      for (i32 i = 0; i < kTogether; ++i) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (row >= 0 && first + i * 32 < pieces) v[i] = from[first + i * 32];
      }
#pragma unroll
      for (i32 i = 0; i < kTogether; ++i)
        if (first + i * 32 < pieces) to[first + i * 32] = v[i];
    }
  }
}

}  // namespace tw
