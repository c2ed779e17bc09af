// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of A and B on their way to who multiplies with them, in the memory behind the barriers.
//
// Scales that change along k travel beside the stages: one for each row and each column of the
// tile, whatever they are scales of, loaded by the warps beside the producer's, which arrive on a
// stage's full barrier as its bytes do. Others are read once a tile, by the warpgroup that writes
// it.

#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Threads that load the scales of stages.
inline constexpr i32 kScaleLoaders = 96;

// Where a scale lies for k block 0, or 0 where there is no such line; bytes to the next block's.
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

// Line `line` of a tile: its rows, then its columns. Of a gate whose columns lie apart, a
// warpgroup's rows are half of each.
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

// Loads the scales of all of a block's stages; by kScaleLoaders threads.
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

// The places in shared memory of a thread's scales: of its two rows, and of its first two columns.
// Found anew where they are used: kept, they would be registers that two sets of sums do not leave.
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
  // Of the columns of group `group` of eight.
  __device__ __forceinline__ void of_columns(int group, float (&scale)[2]) const {
    const u64 both = ptx::shared_load<8>(columns + static_cast<u32>(group) * 32);
    scale[0] = __uint_as_float(static_cast<u32>(both));
    scale[1] = __uint_as_float(static_cast<u32>(both >> 32));
  }
};

// Whether a finished sum is multiplied by scales.
__device__ __forceinline__ bool narrow_scales_sums(const GemmScales& scales) {
  return scales.a_by == kScaleOne || scales.a_by == kScaleLine;
}

// Each warpgroup has its own copy of the scales of a tile.
template <class Config>
__device__ __forceinline__ u32 narrow_tile_scales(const GemmPipeline<Config>& ring, u32 group) {
  static_assert(Config::kConsumers * (64 + Config::kTileN) * 4 <= kGemmScaleBytes,
                "the scales must fit into their shared memory");
  return ring.base + Config::kShared.board + group * ((64 + Config::kTileN) * 4);
}

// Asks for the scales of a tile's finished sums; one scale of a whole operand has no line_step.
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
