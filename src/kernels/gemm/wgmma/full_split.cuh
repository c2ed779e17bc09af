// SPDX-License-Identifier: Apache-2.0
#pragma once
// Split-K in the epilogue kernels. Each CTA of a cluster multiplies a part of the tile's k. It then
// adds up and writes some lines of D: with P parts, every P-th line. CTAs send each other the
// accumulators of these lines (st.async, see epilogue/split.cuh) into the memory of the stages,
// once the whole cluster has read its stages. A cluster may consist of one CTA, with the whole
// tile. C and bias are prefetched before the products.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/epilogue/split.cuh"
#include "kernels/gemm/wgmma/full_begin.cuh"
#include "kernels/gemm/wgmma/full_loops.cuh"

namespace tw {

// How the lines of a tile that lie in D are shared out to the parts (CTAs): line i goes to part
// i % parts.
template <class Config>
struct FullLineShares {
  using Tile = SplitTile<Config>;
  u32 part, parts, inverse;
  u32 lines;  // lines of the tile that lie in D
  u32 own;    // those of this part
  u32 slots;  // lines for which the receiver has memory for each part
  static_assert(!Config::kSplit || Config::kCluster == 1, "a split-K part must be one CTA");
  static_assert(!Config::kSplit ||
                    (Tile::kLines + 7) * Tile::kPitch * 4 <= Config::kShared.d_offset,
                "the accumulators of eight parts must fit into the stages");

  __device__ explicit FullLineShares(i32 rest) {
    part = ptx::cluster_rank() / Config::kCluster;
    parts = ptx::cluster_size() / Config::kCluster;
    inverse = 65536u / parts + 1;
    lines = rest < 0 ? 0 : min(static_cast<u32>(rest), Tile::kLines);
    own = quotient(lines + parts - 1 - part);
    slots = quotient(Tile::kLines + parts - 1);
  }
  /// line / parts, for lines below 8192
  __device__ u32 quotient(u32 line) const { return line * inverse >> 16; }
  /// Shared address of the accumulators that part `sender` has sent for line number `index` of the
  /// receiver.
  __device__ u32 address(u32 received, u32 sender, u32 index) const {
    return received + (sender * slots + index) * (Tile::kPitch * 4);
  }
  /// Bytes that the other CTAs send to this one.
  __device__ u32 bytes() const { return (parts - 1) * own * (Tile::kExtent * 4); }
};

// Sends the accumulators of one row block to the CTAs that own their lines: to shared address
// `received` there, where `barrier` counts the bytes (st.async). The accumulators of this CTA's own
// lines are stored to its shared memory.
template <class Config>
__device__ __forceinline__ void full_send_lines(const float (&d)[Config::kAccumulators],
                                                const FullLineShares<Config>& shares, u32 received,
                                                u32 barrier, u32 row_block) {
  const u32 lane = ptx::lane_id();
  const u32 row = row_block * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
  const u32 column = lane % 4 * 2;
#pragma unroll
  for (u32 i = 0; i < (Config::kSwapAB ? Config::kAccumulators / 2 : 2); ++i) {
    // With swap-AB a thread has two rows of each of several lines, otherwise columns of two lines.
    const u32 line = Config::kSwapAB ? column + i / 2 * 8 + i % 2 : row + i * 8;
    if (line >= shares.lines) continue;
    const u32 index = shares.quotient(line);
    const u32 to = line - index * shares.parts;
    const u32 at =
        shares.address(received, shares.part, index) + (Config::kSwapAB ? row : column) * 4;
    const bool own = to == shares.part;
    const u32 remote = ptx::cluster_address(at, to);
    const u32 counts = ptx::cluster_address(barrier, to);
    if constexpr (Config::kSwapAB) {
#pragma unroll
      for (u32 half = 0; half < 2; ++half) {
        const float value = d[i / 2 * 4 + half * 2 + i % 2];
        if (own)
          ptx::store_shared(at + half * 32, value);
        else
          ptx::store_async(remote + half * 32, value, counts);
      }
    } else {
#pragma unroll
      for (u32 j = 0; j < Config::kAccumulators / 4; ++j) {
        const float x = d[j * 4 + i * 2], y = d[j * 4 + i * 2 + 1];
        if (own)
          ptx::store_shared_v2(at + j * 32, x, y);
        else
          ptx::store_async_v2(remote + j * 32, x, y, counts);
      }
    }
  }
}

// Adds up eight accumulators of one of this CTA's lines, from `column` on, in the order of the
// parts.
template <class Config>
__device__ __forceinline__ void full_add_parts(const FullLineShares<Config>& shares, u32 received,
                                               u32 line, u32 column, float (&sum)[8]) {
#pragma unroll
  for (float& value : sum) value = 0.0f;
#pragma unroll 4
  for (u32 other = 0; other < shares.parts; ++other) {
    float low[4], high[4];
    const u32 from = shares.address(received, other, line) + column * 4;
    ptx::load_shared_v4(from, low);
    ptx::load_shared_v4(from + 16, high);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum[i] += low[i];
      sum[i + 4] += high[i];
    }
  }
}

// Writes this CTA's lines of D.
template <class Config>
__device__ __forceinline__ void full_write_own(const GemmEpilogueArgs& args, const FullRun& run,
                                               const FullLineShares<Config>& shares, u32 received,
                                               u32 thread, i32 m0, i32 n0, u32& largest) {
  constexpr u32 kExtent = SplitTile<Config>::kExtent;
  const bool gated = args.gate != kGateNone;
  const u32 groups = kExtent / (gated ? 16 : 8);
  const i32 line0 = Config::kSwapAB ? n0 : m0;
  const i32 at0 = (Config::kSwapAB ? m0 : n0) / (gated ? 2 : 1);
#pragma unroll 1
  for (u32 item = thread; item < shares.own * groups; item += 128 * Config::kConsumers) {
    const u32 line = item / groups;
    const u32 column = item % groups * 8;
    const i32 at = at0 + static_cast<i32>(column);
    if (at >= run.extent) continue;
    full_write<typename Config::In, typename Config::Out>(
        args, run, line0 + static_cast<i32>(shares.part + line * shares.parts), at, run.extent - at,
        largest, [&](bool second, float(&v)[8]) {
          if (args.gate == kGateInterleaved) {
            float low[8], high[8];
            full_add_parts<Config>(shares, received, line, column * 2, low);
            full_add_parts<Config>(shares, received, line, column * 2 + 8, high);
            full_every_other(low, high, second, v);
          } else {
            full_add_parts<Config>(shares, received, line, column + (second ? kExtent / 2 : 0), v);
          }
        });
  }
}

// Prefetches C and bias of this CTA's lines into the L2.
template <class Config>
__device__ __forceinline__ void full_prefetch_own(const GemmEpilogueArgs& args, const FullRun& run,
                                                  const FullLineShares<Config>& shares, u32 thread,
                                                  i32 m0, i32 n0) {
  using Out = typename Config::Out;
  if (args.gate != kGateNone || (run.beta == 0.0f && args.bias_by != kFullPerElement)) return;
  constexpr u32 kGroups = SplitTile<Config>::kExtent / 8;
#pragma unroll 1
  for (u32 item = thread; item < shares.own * kGroups; item += 128 * Config::kConsumers) {
    const i32 line =
        (Config::kSwapAB ? n0 : m0) + static_cast<i32>(shares.part + item / kGroups * shares.parts);
    const i32 at = (Config::kSwapAB ? m0 : n0) + static_cast<i32>(item % kGroups * 8);
    if (at >= run.extent) continue;
    if (run.beta != 0.0f) ptx::prefetch_line(full_c<Out>(args, run, {line, at, 1}));
    if (args.bias_by == kFullPerElement && item < kGroups)
      ptx::prefetch_line(args.bias +
                         (static_cast<u64>(at) << (args.bias_type != kBiasAsInput ? 2 : 1)));
  }
}

// One tile per cluster. Accumulators may overwrite the stages once all threads of the cluster have
// arrived, and relaxed arrivals suffice for that. No CTA exits before it has received everything.
template <class Config>
__device__ __forceinline__ void full_consume_split(const GemmEpilogueArgs& args,
                                                   const GemmEffectiveSizes& sizes, FullRun run,
                                                   GemmPipeline<Config> pipeline, u32 group,
                                                   u32& largest) {
  const i32 unit = full_first_unit<Config>();
  if (unit >= gemm_units(args, sizes)) return;
  const u32 thread = threadIdx.x - 128;
  const u32 first_row_block = group * Config::kRowBlocks;
  const u32 barrier = full_partials_barrier<Config>(pipeline);
  const GemmTileOrigin tile = full_tile<Config>(args, sizes, unit, 0);
  full_matrix<typename Config::In, typename Config::Out>(args, tile.z, run.lines, &run);
  const FullLineShares<Config> shares(run.lines - (Config::kSwapAB ? tile.n0 : tile.m0));
  if (thread == 0) ptx::mbarrier_arrive_expect(barrier, shares.bytes());
  full_prefetch_own<Config>(args, run, shares, thread, tile.m0, tile.n0);
  float d[Config::kRowBlocks][Config::kAccumulators];
  gemm_accumulate<Config>(d, gemm_span<Config>(sizes.k), pipeline, first_row_block);
  gemm_wait_products<Config>(d);
  if (shares.parts > 1) {
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  } else {
    ptx::named_barrier(1, 128 * Config::kConsumers);
  }
#pragma unroll
  for (u32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
    full_send_lines<Config>(d[row_block], shares, pipeline.base, barrier,
                            first_row_block + row_block);
  ptx::named_barrier(1, 128 * Config::kConsumers);  // this CTA's own stores are done
  ptx::mbarrier_wait(barrier, 0);
  full_write_own<Config>(args, run, shares, pipeline.base, thread, tile.m0, tile.n0, largest);
}

}  // namespace tw
