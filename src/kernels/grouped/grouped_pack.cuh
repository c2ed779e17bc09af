// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies gathered rows of A into a packed matrix. This saves time in products that load each row
// many times.

#include "kernels/grouped/grouped.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

__device__ __forceinline__ void grouped_pack(const GroupedArgs& args) {
  constexpr u32 kWarps = grouped_step_threads(kGroupedPack) / 32;
  constexpr i32 kPiecesAtOnce = 8;
  ptx::grid_dependency_wait_and_launch();
  const i32 pieces = args.k / 8;
  for (i64 r = i64{blockIdx.x} * kWarps + threadIdx.x / 32; r < args.m;
       r += i64{gridDim.x} * kWarps) {
    const i32 row = grouped_a_row(args, static_cast<i32>(r));
    const auto* const from =
        reinterpret_cast<const uint4*>(args.a) + (row < 0 ? 0 : row) * (args.a_pitch / 8);
    auto* const to = reinterpret_cast<uint4*>(args.d) + r * pieces;
#pragma unroll 1
    for (auto first = static_cast<i32>(ptx::lane_id()); first < pieces;
         first += 32 * kPiecesAtOnce) {
      uint4 v[kPiecesAtOnce];
#pragma unroll
      for (i32 i = 0; i < kPiecesAtOnce; ++i) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (row >= 0 && first + i * 32 < pieces) v[i] = from[first + i * 32];
      }
#pragma unroll
      for (i32 i = 0; i < kPiecesAtOnce; ++i)
        if (first + i * 32 < pieces) to[first + i * 32] = v[i];
    }
  }
}

}  // namespace tw
