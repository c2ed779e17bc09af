// SPDX-License-Identifier: Apache-2.0
#pragma once
// Split-K: each CTA of a cluster multiplies a part of one tile's k. Each then adds up and writes a
// share of the tile. It adds in the order of ranks, so that equal inputs give equal bits.
//
// CTAs send accumulators from registers to the CTA that adds them up, whose barrier counts the
// bytes (st.async, at 14 bytes per cycle, the bandwidth of the network between SMs). If the
// receiving CTA has memory for them beside its stages, no cluster barrier is needed after the
// products, and a CTA that writes nothing exits at once. For (m, n, k) = (1, 3072, 1536) and a
// split-K factor of 2 this takes 5.15 us instead of 6.07 us, of which cluster barriers were some
// 0.6 us. Code after the products runs once: it costs six cycles per instruction, in any order.
//
// The epilogue kernels send accumulators by lines of D instead (wgmma/full_split.cuh), except those
// for narrow types (wgmma/narrow/gemm_split_narrow.cuh).

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/types.cuh"

namespace tw {

/// A tile's f32 accumulators in shared memory, in the epilogue kernels: kLines lines of kExtent
/// elements, in the order of D. The pitch puts the lines that a warp accesses at once in different
/// banks.
template <class Config>
struct SplitTile {
  static constexpr u32 kLines = Config::kSwapAB ? Config::kTileN : Config::kTileM;
  static constexpr u32 kExtent = Config::kSwapAB ? Config::kTileM : Config::kTileN;
  static constexpr u32 kPitch =
      Config::kSwapAB ? kExtent + 4 : kExtent + (kExtent % 16 == 8 ? 0 : 8);
  static_assert(kPitch * kLines * 4 <= Config::kShared.d_offset,
                "a tile's accumulators must fit into the stages");
};

/// How a tile is shared out to the `parts` CTAs: in groups of eight columns. A group consists of
/// cells, one for each thread and row block, with four accumulators each. Groups and warps outside
/// of D are left out.
template <class Config>
struct SplitShare {
  static constexpr u32 kThreads = 128 * Config::kConsumers;
  static constexpr u32 kRowBlocks = static_cast<u32>(Config::kRowBlocks);
  static constexpr u32 kGroups = static_cast<u32>(Config::kTileN) / 8;
  static constexpr u32 kStep = kRowBlocks * kThreads * 16;  // bytes from a group to the next
  u32 part, parts;
  u32 groups;                     // inside D
  u32 min_groups, larger_shares;  // groups of a CTA; the first `larger_shares` CTAs have one more
  u32 warps;                      // warps whose 16 rows begin inside D

  __device__ SplitShare(const GemmArgs& args, i32 m0, i32 n0) {
    part = ptx::cluster_rank() / Config::kCluster;
    parts = ptx::cluster_size() / Config::kCluster;
    const auto inside = [](i32 rest, i32 most, i32 step) {
      return static_cast<u32>(rest < 0 ? 0 : ((rest < most ? rest : most) + step - 1) / step);
    };
    groups = inside(args.n - n0, Config::kTileN, 8);
    warps = inside(args.m - m0, Config::kTileM, 16);
    min_groups = static_cast<u32>(
        static_cast<float>(groups) * ptx::reciprocal(static_cast<float>(parts)) + 0.01f);
    larger_shares = groups - min_groups * parts;
  }
  __device__ u32 owned(u32 block) const { return min_groups + (block < larger_shares ? 1 : 0); }
  __device__ u32 first() const {
    return part * min_groups + (part < larger_shares ? part : larger_shares);
  }
  /// Bytes that the other CTAs send to this one.
  __device__ u32 bytes() const { return (parts - 1) * owned(part) * warps * 512; }
};

/// Sends the accumulators of one row block to the CTAs that add them up. `received` is the shared
/// address of the memory in which each CTA receives them.
template <class Config>
__device__ __forceinline__ void split_send(const float (&d)[Config::kTileN / 2],
                                           const SplitShare<Config>& share, u32 received,
                                           u32 barrier, u32 rank, u32 row_block, u32 thread) {
  constexpr u32 kStep = SplitShare<Config>::kStep;
  u32 block = 0, local = 0, owned = share.owned(0);
  const u32 cell = received + (row_block * SplitShare<Config>::kThreads + thread) * 16;
#pragma unroll
  for (u32 group = 0; group < SplitShare<Config>::kGroups; ++group) {
    if (group >= share.groups) return;
    const u32 at = cell + (share.part * owned + local) * kStep;
    const u32 to = block * Config::kCluster + rank;
    const float(&sums)[4] = reinterpret_cast<const float(&)[4]>(d[group * 4]);
    if (block == share.part)  // read by this same thread
      ptx::store_shared_v4(at, sums);
    else
      ptx::store_async_v4(ptx::cluster_address(at, to), sums, ptx::cluster_address(barrier, to));
    if (++local == owned) {
      local = 0;
      owned = share.owned(++block);
    }
  }
}

// Where a thread writes its next cell to D. Successive groups of eight columns are `step` elements
// apart.
template <class Config>
struct SplitPlace {
  using Out = typename Config::Out;
  static constexpr bool kTransposesPairs = Config::kSwapAB && Out::kBytes == 2;
  typename Out::Storage* out;
  i64 step;
  i32 row, column, columns;  // `columns`: the column at which D or this CTA's share ends

  __device__ SplitPlace(const GemmArgs& args, i32 row0, i32 column0, u32 groups) {
    const auto lane = static_cast<i32>(ptx::lane_id());
    row = row0 + (kTransposesPairs ? lane % 4 * 2 : lane / 4);
    column = column0 + (kTransposesPairs ? lane / 4 : lane % 4 * 2);
    const i32 share_end = column0 + static_cast<i32>(groups) * 8;
    columns = args.n < share_end ? args.n : share_end;
    const i64 across = args.d_stride_m;
    out = reinterpret_cast<typename Out::Storage*>(args.d) +
          (Config::kSwapAB ? column * across + row : row * across + column);
    step = Config::kSwapAB ? 8 * across : 8;
  }
  // Whether the warp's cells need neither C nor stores of single elements, so that put() suffices.
  __device__ bool put_suffices(const GemmArgs& args, i32 row0) const {
    return args.beta == 0.0f && (Config::kSwapAB ? row0 + 16 : columns) <= args.plain_from;
  }
  __device__ __forceinline__ void put(const GemmArgs& args, const float (&sum)[4]) {
    const i64 across = args.d_stride_m;
    if constexpr (kTransposesPairs) {
      const u32 low = ptx::transpose_matrix(Out::pack(sum[0], sum[1]));
      const u32 high = ptx::transpose_matrix(Out::pack(sum[2], sum[3]));
      if (column < columns) {
        *reinterpret_cast<u32*>(out) = low;
        *reinterpret_cast<u32*>(out + 8) = high;
      }
    } else if constexpr (Config::kSwapAB) {
      if (column < columns) {
        out[0] = sum[0];
        out[8] = sum[2];
      }
      if (column + 1 < columns) {
        out[across] = sum[1];
        out[across + 8] = sum[3];
      }
    } else if constexpr (Out::kBytes == 2) {
      if (column < columns && row < args.m)
        *reinterpret_cast<u32*>(out) = Out::pack(sum[0], sum[1]);
      if (column < columns && row + 8 < args.m)
        *reinterpret_cast<u32*>(out + 8 * across) = Out::pack(sum[2], sum[3]);
    } else {
      if (column < columns && row < args.m)
        *reinterpret_cast<float2*>(out) = make_float2(sum[0], sum[1]);
      if (column < columns && row + 8 < args.m)
        *reinterpret_cast<float2*>(out + 8 * across) = make_float2(sum[2], sum[3]);
    }
    out += step;
    column += 8;
  }
};

// Writes a cell's four values to D one by one, with C.
template <class Config>
__device__ __noinline__ void split_put_cell(const GemmArgs& args, float4 sum, i32 row, i32 column) {
  using Out = typename Config::Out;
  constexpr bool kSwapAB = Config::kSwapAB;
  auto* d = reinterpret_cast<typename Out::Storage*>(args.d);
  const auto* c = reinterpret_cast<const typename Out::Storage*>(args.c);
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    float value = i == 0 ? sum.x : i == 1 ? sum.y : i == 2 ? sum.z : sum.w;
    const i32 y = row + i / 2 * 8, x = column + i % 2;
    if (y >= args.m || x >= args.n) continue;
    if (args.beta != 0.0f)
      value += args.beta *
               Out::to_float(kSwapAB ? c[x * args.c_stride_m + y] : c[y * args.c_stride_m + x]);
    d[kSwapAB ? x * args.d_stride_m + y : y * args.d_stride_m + x] = Out::from_float(value);
  }
}

/// Adds up this CTA's share of the accumulators in the order of parts, and writes it.
template <class Config>
__device__ __forceinline__ void split_collect(const GemmArgs& args, const SplitShare<Config>& share,
                                              u32 received, u32 barrier, u32 first_row_block,
                                              u32 thread, i32 m0, i32 n0) {
  using Share = SplitShare<Config>;
  constexpr u32 kAtOnce = Config::kTileN >= 32 ? 4 : Config::kTileN / 8;
  const u32 owned = share.owned(share.part);
  if (owned == 0 || share.warps == 0) return;
  const i32 column0 = n0 + static_cast<i32>(share.first()) * 8;
#pragma unroll
  for (u32 row_block = 0; row_block < Share::kRowBlocks; ++row_block) {
    const u32 row = (first_row_block + row_block) * 64 + threadIdx.x / 32 % 4 * 16;
    if (row >= share.warps * 16) return;
    const u32 cell = received + (row_block * Share::kThreads + thread) * 16;
    SplitPlace<Config> place(args, m0 + static_cast<i32>(row), column0, owned);
    const bool whole = place.put_suffices(args, m0 + static_cast<i32>(row));
    if (row_block == 0) ptx::mbarrier_wait(barrier, 0);  // as late as possible
#pragma unroll 1
    for (u32 local = 0; local < owned; local += kAtOnce) {
      float sum[kAtOnce][4] = {};
      u32 from[kAtOnce];  // beyond the last group: the last group's address again
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i)
        from[i] = cell + (local + i < owned ? local + i : owned - 1) * Share::kStep;
#pragma unroll 1
      for (u32 other = 0; other < share.parts; ++other) {
        float one[kAtOnce][4];
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) {
          ptx::load_shared_v4(from[i], one[i]);
          from[i] += owned * Share::kStep;
        }
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i)
#pragma unroll
          for (u32 j = 0; j < 4; ++j) sum[i][j] += one[i][j];
      }
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (u32 j = 0; j < 4; ++j) sum[i][j] *= args.alpha;
      if (whole) {
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) place.put(args, sum[i]);
      } else {
        const u32 lane = ptx::lane_id();
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i)
          if (local + i < owned)
            split_put_cell<Config>(args, make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]),
                                   m0 + static_cast<i32>(row + lane / 4),
                                   column0 + static_cast<i32>((local + i) * 8 + lane % 4 * 2));
      }
    }
  }
}

// Before the CTAs of a split-K cluster send accumulators to each other, it waits until that is
// safe. If accumulators overwrite the stages, every CTA must have finished reading its own stages,
// so the CTAs arrive here. If there is memory for them (kHasReceiveBuffer), it is enough that every
// CTA has started: the CTAs arrived when they began, and if kCluster is above 1, they also waited
// then.
template <class Config>
__device__ __forceinline__ void gemm_sync_split() {
  if (!Config::kSplit) return;
  if (!Config::kHasReceiveBuffer) ptx::cluster_arrive_relaxed();
  if (!Config::kHasReceiveBuffer || Config::kCluster == 1) ptx::cluster_wait();
}

}  // namespace tw
