// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads the scales of A and B into shared memory, after the barriers.
//
// Scales that change along k accompany the stages: one for each row and each column of the tile,
// whatever region a scale covers. The three warps next to the producer warp load them and arrive at
// the stage's full barrier, as the TMA does. The warpgroup that writes a tile reads all other
// scales once for the tile.

#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Threads that load the scales of stages.
inline constexpr i32 kScaleLoaders = 96;

// The address of a line's scale for k block 0, or 0 if there is no such line, and the bytes from
// one k block's scale to the next.
struct NarrowLine {
  u64 address;
  i64 step;
};

__device__ __forceinline__ NarrowLine narrow_line(const GemmScale& scale, unsigned char by,
                                                  i32 line, i32 lines, i32 z) {
  if (line >= lines) return {0, 0};
  const i64 at =
      (by == kScaleBlock ? line / kScaleDepth : line) * scale.line_step + z * scale.batch_step;
  return {scale.address + static_cast<u64>(at) * 4, scale.block_step * 4};
}

// The scales of line `line` of a tile. Its rows come first, then its columns. With Gate::halves,
// half of a warpgroup's rows come from each half of the operand.
template <class Config>
__device__ __forceinline__ NarrowLine narrow_line_of(const GemmNarrowArgs& all, i32 m, i32 n,
                                                     const FullTile& tile, i32 line) {
  const GemmEpilogueArgs& full = all.stream.full;
  if (line >= Config::kTileM)
    return narrow_line(all.scales.b, all.scales.b_by, tile.n0 + line - Config::kTileM, n, tile.z);
  const i32 row = full_line(full, tile.m0 + line / 64 * 64, line % 64, 64);
  return narrow_line(all.scales.a, all.scales.a_by, row, m, tile.z);
}

template <class Config>
__device__ __forceinline__ u32 narrow_stage_scales(const GemmPipeline<Config>& ring, i32 width) {
  return ring.base + Config::kShared.board +
         static_cast<u32>(ring.stage * (Config::kTileM + width)) * 4;
}

// Loads the scales for all stages of a CTA. kScaleLoaders threads call it.
template <class Config>
__device__ __forceinline__ void narrow_load_scales(const GemmNarrowArgs& all,
                                                   GemmPipeline<Config> ring, i32 thread) {
  constexpr i32 kMost = (Config::kTileM + Config::kTileN + kScaleLoaders - 1) / kScaleLoaders;
  const GemmStreamArgs& args = all.stream;
  const auto sizes = StreamSizes<Config>::of(args);
  StreamWork<Config> work(args, sizes);
  StreamItem item;
  while (work.next(&item)) {
    const FullTile tile = stream_tile<Config>(args, sizes, item.unit, 0);
    NarrowLine lines[kMost];
#pragma unroll
    for (i32 i = 0; i < kMost; ++i) {
      lines[i] = narrow_line_of<Config>(all, sizes.m, sizes.n, tile, thread + i * kScaleLoaders);
      if (lines[i].address != 0) lines[i].address += static_cast<u64>(item.begin * lines[i].step);
    }
#pragma unroll 1
    for (i32 block = item.begin; block < item.end; ++block) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      const u32 to = narrow_stage_scales<Config>(ring, args.width) + static_cast<u32>(thread) * 4;
#pragma unroll
      for (i32 i = 0; i < kMost; ++i) {
        if (thread + i * kScaleLoaders >= Config::kTileM + args.width) break;
        const bool there = lines[i].address != 0;
        ptx::async_copy<4>(to + static_cast<u32>(i) * (kScaleLoaders * 4),
                           there ? lines[i].address : all.scales.a.address, there ? 4 : 0);
        if (there) lines[i].address += static_cast<u64>(lines[i].step);
      }
      ptx::mbarrier_arrive_copies(ring.full_barrier(ring.stage));
      ring.advance();
    }
  }
}

// The shared-memory addresses of a thread's scales: of its two rows, and of its first two columns.
// Recomputed at each use, because two sets of accumulators leave no registers to keep them.
struct NarrowPlaces {
  u32 rows, columns;

  __device__ __forceinline__ NarrowPlaces(u32 rows_at, u32 columns_at) {
    const u32 thread = ptx::thread_id_again();
    rows = rows_at + (thread / 32 % 4 * 16 + thread % 32 / 4) * 4;
    columns = columns_at + thread % 4 * 8;
  }
  __device__ __forceinline__ void of_rows(float (&scale)[2]) const {
    scale[0] = __uint_as_float(ptx::shared_load<4>(rows));
    scale[1] = __uint_as_float(ptx::shared_load<4>(rows + 32));
  }
  // The scales of the thread's two columns in the `group`-th eight columns.
  __device__ __forceinline__ void of_columns(int group, float (&scale)[2]) const {
    const u64 both = ptx::shared_load<8>(columns + static_cast<u32>(group) * 32);
    scale[0] = __uint_as_float(static_cast<u32>(both));
    scale[1] = __uint_as_float(static_cast<u32>(both >> 32));
  }
};

// Whether finished accumulators are multiplied by scales: these do not change along k.
__device__ __forceinline__ bool narrow_scales_sums(const GemmScales& scales) {
  return scales.a_by == kScaleOne || scales.a_by == kScaleLine;
}

// Each warpgroup has its own copy of the scales of a tile.
template <class Config>
__device__ __forceinline__ u32 narrow_tile_scales(const GemmPipeline<Config>& ring, u32 group) {
  static_assert(Config::kConsumers * (64 + Config::kTileN) * 4 <= kGemmScaleBytes, "room");
  return ring.base + Config::kShared.board + group * ((64 + Config::kTileN) * 4);
}

// Starts loading the scales for a tile's finished accumulators. If there is one scale for the whole
// operand, line_step is 0.
template <class Config>
__device__ __forceinline__ void narrow_ask_for_scales(const GemmNarrowArgs& all, i32 unit,
                                                      const GemmPipeline<Config>& ring, u32 group) {
  if (!narrow_scales_sums(all.scales)) return;
  const auto sizes = StreamSizes<Config>::of(all.stream);
  const FullTile tile = stream_tile<Config>(all.stream, sizes, unit, 0);
  const u32 to = narrow_tile_scales<Config>(ring, group);
#pragma unroll 1
  for (auto line = static_cast<i32>(threadIdx.x % 128); line < 64 + all.stream.width; line += 128) {
    const i32 of_tile =
        line < 64 ? static_cast<i32>(group) * 64 + line : Config::kTileM + line - 64;
    const NarrowLine from = narrow_line_of<Config>(all, sizes.m, sizes.n, tile, of_tile);
    const bool there = from.address != 0;
    ptx::async_copy<4>(to + static_cast<u32>(line) * 4, there ? from.address : all.scales.a.address,
                       there ? 4 : 0);
  }
}

}  // namespace tw
