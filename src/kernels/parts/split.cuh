// SPDX-License-Identifier: Apache-2.0
#pragma once
// One tile shared along k by a cluster: each block multiplies its part of k, and the parts are
// summed through distributed shared memory in the order of ranks, so that equal inputs give equal
// bits. Each block sums and writes its share of the tile's rows.

#include "kernels/gemm/gemm.h"
#include "kernels/parts/types.cuh"

namespace tw {

/// Floats between rows of a partial tile: eight more than its columns, so that the rows of a
/// fragment start eight banks apart.
template <int kTileN>
inline constexpr u32 kSplitPitch = kTileN + 8;

/// The warpgroup's piece of 64 rows, from accumulators to the partial tile.
template <int kTileN>
__device__ __forceinline__ void split_put(const float (&d)[kTileN / 2], u32 partial, u32 piece) {
  const u32 lane = ptx::lane_id();
  const u32 row = piece * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
  const u32 to = partial + (row * kSplitPitch<kTileN> + lane % 4 * 2) * 4;
#pragma unroll
  for (u32 i = 0; i < kTileN / 2; i += 2)
    ptx::store_shared_v2(to + (i / 4 * 8 + (i & 2) * 4 * kSplitPitch<kTileN>)*4, d[i], d[i + 1]);
}

// Eight neighbours of a row of D.
template <class Out>
__device__ __forceinline__ void split_write(float (&sum)[8], const GemmArgs& args, i32 row,
                                            i32 column) {
  if (row >= args.m || column >= args.n) return;
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d) + row * args.d_stride_m + column;
  const auto* c =
      reinterpret_cast<const typename Out::Storage*>(args.c) + row * args.c_stride_m + column;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    sum[i] *= args.alpha;
    if (args.beta != 0.0f && column + i < args.n) sum[i] += args.beta * Out::to_float(c[i]);
  }
  if (column + 8 > args.plain_from) {  // also where D suits no 16-byte stores at all
#pragma unroll
    for (i32 i = 0; i < 8; ++i)
      if (column + i < args.n) out[i] = Out::from_float(sum[i]);
  } else if constexpr (Out::kBytes == 2) {
    *reinterpret_cast<uint4*>(out) =
        make_uint4(Out::pack(sum[0], sum[1]), Out::pack(sum[2], sum[3]), Out::pack(sum[4], sum[5]),
                   Out::pack(sum[6], sum[7]));
  } else {
    *reinterpret_cast<float4*>(out) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    *reinterpret_cast<float4*>(out + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
  }
}

/// Sums this block's share of the rows over the cluster and writes them. `thread` counts the
/// kThreads threads that take part.
template <class Out, int kTileM, int kTileN, u32 kThreads>
__device__ __forceinline__ void split_sum(const GemmArgs& args, u32 partial, u32 rank, u32 size,
                                          u32 thread, i32 m0, i32 n0) {
  constexpr u32 kGroups = kTileN / 8;
  const u32 first = rank * kTileM / size;
  const u32 last = (rank + 1) * kTileM / size;
  for (u32 item = first * kGroups + thread; item < last * kGroups; item += kThreads) {
    const u32 row = item / kGroups;
    const u32 column = item % kGroups * 8;
    const u32 from = partial + (row * kSplitPitch<kTileN> + column) * 4;
    float sum[8] = {};
#pragma unroll 4
    for (u32 other = 0; other < size; ++other) {
      float low[4], high[4];
      const u32 remote = ptx::cluster_address(from, other);
      ptx::load_cluster_v4(remote, low);
      ptx::load_cluster_v4(remote + 16, high);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum[i] += low[i];
        sum[i + 4] += high[i];
      }
    }
    split_write<Out>(sum, args, m0 + static_cast<i32>(row), n0 + static_cast<i32>(column));
  }
}

}  // namespace tw
