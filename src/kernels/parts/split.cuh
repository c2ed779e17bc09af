// SPDX-License-Identifier: Apache-2.0
#pragma once
// One tile shared along k by a cluster: each block multiplies its part of k, and the parts are
// summed through distributed shared memory in the order of ranks, so that equal inputs give equal
// bits. Each block sums and writes its share of the tile's lines: rows of D, as it lies in memory.

#include "kernels/gemm/gemm.h"
#include "kernels/parts/types.cuh"

namespace tw {

/// The partial tile in shared memory, f32, as D lies: `lines` of `extent` elements. The pitch keeps
/// a fragment's lines, two pairs of columns or eight rows of them, in banks of their own.
template <class Config>
struct SplitTile {
  static constexpr u32 kLines = Config::kTransposed ? Config::kTileN : Config::kTileM;
  static constexpr u32 kExtent = Config::kTransposed ? Config::kTileM : Config::kTileN;
  static constexpr u32 kPitch =
      Config::kTransposed ? kExtent + 4 : kExtent + (kExtent % 16 == 8 ? 0 : 8);
  static_assert(kPitch * kLines * 4 <= Config::kShared.d_offset,
                "the partial tile takes the place of the ring");
};

/// The warpgroup's piece of 64 rows, from accumulators to the partial tile.
template <class Config, int kCount>
__device__ __forceinline__ void split_put(const float (&d)[kCount], u32 partial, u32 piece) {
  constexpr u32 kPitch = SplitTile<Config>::kPitch;
  const u32 lane = ptx::lane_id();
  const u32 row = piece * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
  const u32 column = lane % 4 * 2;
  if constexpr (Config::kTransposed) {
    const u32 to = partial + (column * kPitch + row) * 4;
#pragma unroll
    for (u32 i = 0; i < kCount; ++i)
      ptx::store_shared(to + ((i / 4 * 8 + (i & 1)) * kPitch + (i & 2) * 4) * 4, d[i]);
  } else {
    const u32 to = partial + (row * kPitch + column) * 4;
#pragma unroll
    for (u32 i = 0; i < kCount; i += 2)
      ptx::store_shared_v2(to + (i / 4 * 8 + (i & 2) * 4 * kPitch) * 4, d[i], d[i + 1]);
  }
}

// Eight neighbours of a line of D, of which `count` are inside.
template <class Out>
__device__ __forceinline__ void split_write(float (&sum)[8], const GemmArgs& args, i32 line, i32 at,
                                            i32 count) {
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d) + line * args.d_stride_m + at;
  const auto* c =
      reinterpret_cast<const typename Out::Storage*>(args.c) + line * args.c_stride_m + at;
#pragma unroll
  for (i32 i = 0; i < 8; ++i) {
    sum[i] *= args.alpha;
    if (args.beta != 0.0f && i < count) sum[i] += args.beta * Out::to_float(c[i]);
  }
  if (at + 8 > args.plain_from) {  // also where D suits no 16-byte stores at all
#pragma unroll
    for (i32 i = 0; i < 8; ++i)
      if (i < count) out[i] = Out::from_float(sum[i]);
  } else if constexpr (Out::kBytes == 2) {
    *reinterpret_cast<uint4*>(out) =
        make_uint4(Out::pack(sum[0], sum[1]), Out::pack(sum[2], sum[3]), Out::pack(sum[4], sum[5]),
                   Out::pack(sum[6], sum[7]));
  } else {
    *reinterpret_cast<float4*>(out) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    *reinterpret_cast<float4*>(out + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
  }
}

/// Sums this block's share of the lines over the blocks that have parts of its tile, and writes
/// them. `rank` is the block's among those that share A and B, `thread` counts the consumers'
/// threads, (m0, n0) is the tile's first element.
template <class Config>
__device__ __forceinline__ void split_sum(const GemmArgs& args, u32 partial, u32 rank, u32 thread,
                                          i32 m0, i32 n0) {
  const u32 part = ptx::cluster_rank() / Config::kCluster;
  const u32 parts = ptx::cluster_size() / Config::kCluster;
  using Tile = SplitTile<Config>;
  constexpr u32 kGroups = Tile::kExtent / 8;
  const i32 line0 = Config::kTransposed ? n0 : m0;
  const i32 at0 = Config::kTransposed ? m0 : n0;
  const i32 rest = (Config::kTransposed ? args.n : args.m) - line0;
  const i32 inside = (Config::kTransposed ? args.m : args.n) - at0;
  // Only lines that D has are shared out; a block at the edge may have none.
  const u32 lines = rest < 0 ? 0 : min(static_cast<u32>(rest), Tile::kLines);
  const u32 first = part * lines / parts;
  const u32 last = (part + 1) * lines / parts;
  for (u32 item = first * kGroups + thread; item < last * kGroups;
       item += 128 * Config::kConsumers) {
    const u32 line = item / kGroups;
    const u32 at = item % kGroups * 8;
    if (static_cast<i32>(at) >= inside) continue;
    const u32 from = partial + (line * Tile::kPitch + at) * 4;
    float sum[8] = {};
#pragma unroll 4
    for (u32 other = 0; other < parts; ++other) {
      float low[4], high[4];
      const u32 remote = ptx::cluster_address(from, other * Config::kCluster + rank);
      ptx::load_cluster_v4(remote, low);
      ptx::load_cluster_v4(remote + 16, high);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum[i] += low[i];
        sum[i + 4] += high[i];
      }
    }
    split_write<typename Config::Out>(sum, args, line0 + static_cast<i32>(line),
                                      at0 + static_cast<i32>(at), inside - static_cast<i32>(at));
  }
}

}  // namespace tw
