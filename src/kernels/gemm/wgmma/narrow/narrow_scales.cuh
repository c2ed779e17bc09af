// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies the scales of A and B to shared memory, behind the barriers.
//
// Scales that change along k belong to the pipeline's stages. The three warps beside the producer
// warp load one for each row and column of the tile, even if several lines share a scale, and
// arrive on the stage's full barrier. Other scales are loaded once a tile by each consumer
// warpgroup, which applies them to its finished accumulators.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Threads that load the scales of stages: warps 1 to 3.
inline constexpr i32 kScaleLoaders = 96;

// Where the scales of a line (row of A or column of B) are in global memory.
struct NarrowLine {
  u64 address;  // of the scale for k block 0; 0 if the operand has no such line
  i64 step;     // bytes from one k block's scale to the next one's
};

__device__ __forceinline__ NarrowLine narrow_line(const GemmScale& scale, unsigned char by,
                                                  i32 line, i32 lines, i32 z) {
  if (line >= lines) return {0, 0};
  const i64 at =
      (by == kScaleBlock ? line / kScaleDepth : line) * scale.line_step + z * scale.batch_step;
  return {scale.address + static_cast<u64>(at) * 4, scale.block_step * 4};
}

// The scales of line `line` of a tile: lines are kTileM rows of A, then columns of B. With a gate
// of halves, a warpgroup's 64 rows are 32 of each half of A.
template <class Config>
__device__ __forceinline__ NarrowLine narrow_line_in_tile(const GemmNarrowArgs& narrow_args, i32 m,
                                                          i32 n, const GemmTileOrigin& tile,
                                                          i32 line) {
  const GemmEpilogueArgs& full = narrow_args.stream.full;
  if (line >= Config::kTileM)
    return narrow_line(narrow_args.scales.b, narrow_args.scales.b_by,
                       tile.n0 + line - Config::kTileM, n, tile.z);
  const i32 row = full_line(full, tile.m0 + line / 64 * 64, line % 64, 64);
  return narrow_line(narrow_args.scales.a, narrow_args.scales.a_by, row, m, tile.z);
}

// Shared-memory address of the current stage's scales: kTileM of rows, then `width` of columns.
template <class Config>
__device__ __forceinline__ u32 narrow_stage_scales(const GemmPipeline<Config>& pipeline,
                                                   i32 width) {
  return pipeline.base + Config::kShared.table_offset +
         static_cast<u32>(pipeline.stage * (Config::kTileM + width)) * 4;
}

// Index in shared memory of a line's scale. Within 16 lines the four scales that one thread needs
// are neighbors: those of columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9. A multiple of 16 may be added
// to the line or to the index.
__device__ __forceinline__ u32 narrow_scale_slot(u32 line) {
  return line / 16 * 16 + line / 2 % 4 * 4 + line / 8 % 2 * 2 + line % 2;
}

// Loads the scales of an item's k blocks into the stages. kScaleLoaders threads call it.
template <class Config, class Sizes>
__device__ __forceinline__ void narrow_load_item_scales(
    const GemmNarrowArgs& narrow_args, const Sizes& sizes, const GemmTileOrigin& tile,
    const StreamItem& item, GemmPipeline<Config>& pipeline, i32 thread) {
  constexpr i32 kMost = (Config::kTileM + Config::kTileN + kScaleLoaders - 1) / kScaleLoaders;
  const GemmStreamArgs& args = narrow_args.stream;
  NarrowLine lines[kMost];
#pragma unroll
  for (i32 i = 0; i < kMost; ++i) {
    lines[i] = narrow_line_in_tile<Config>(narrow_args, sizes.m, sizes.n, tile,
                                           thread + i * kScaleLoaders);
    if (lines[i].address != 0) lines[i].address += static_cast<u64>(item.begin * lines[i].step);
  }
#pragma unroll 1
  for (i32 block = item.begin; block < item.end; ++block) {
    ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
    const u32 to = narrow_stage_scales<Config>(pipeline, args.width) +
                   narrow_scale_slot(static_cast<u32>(thread)) * 4;
#pragma unroll
    for (i32 i = 0; i < kMost; ++i) {
      if (thread + i * kScaleLoaders >= Config::kTileM + args.width) break;
      const bool exists = lines[i].address != 0;
      ptx::async_copy<4>(to + static_cast<u32>(i) * (kScaleLoaders * 4),
                         exists ? lines[i].address : narrow_args.scales.a.address, exists ? 4 : 0);
      if (exists) lines[i].address += static_cast<u64>(lines[i].step);
    }
    ptx::mbarrier_arrive_copies(pipeline.full_barrier(pipeline.stage));
    pipeline.advance();
  }
}

// Loads the scales of all stages that the CTA of a stream-K kernel multiplies.
template <class Config>
__device__ __forceinline__ void narrow_load_scales(const GemmNarrowArgs& narrow_args,
                                                   GemmPipeline<Config> pipeline, i32 thread) {
  const GemmStreamArgs& args = narrow_args.stream;
  const auto sizes = StreamSizes<Config>::read(args);
  StreamWork<Config> work(args, sizes);
  StreamItem item;
  while (work.next(&item)) {
    const GemmTileOrigin tile = stream_tile<Config>(args, sizes, item.unit, 0);
    narrow_load_item_scales<Config>(narrow_args, sizes, tile, item, pipeline, thread);
  }
}

// Shared-memory addresses of the scales of a thread's two rows and of its columns.
struct NarrowScaleAddresses {
  u32 rows, columns;

  __device__ __forceinline__ NarrowScaleAddresses(u32 rows_at, u32 columns_at) {
    const u32 thread = ptx::reread_thread_id();
    rows = rows_at + narrow_scale_slot(thread / 32 % 4 * 16 + thread % 32 / 4) * 4;
    columns = columns_at + thread % 4 * 16;
  }
  // The same addresses, moved by `address`.
  __device__ __forceinline__ NarrowScaleAddresses moved_by(u32 address) const {
    NarrowScaleAddresses moved = *this;
    moved.rows += address;
    moved.columns += address;
    return moved;
  }
  __device__ __forceinline__ void load_rows(float (&scale)[2]) const {
    scale[0] = __uint_as_float(ptx::shared_load<4>(rows));
    scale[1] = __uint_as_float(ptx::shared_load<4>(rows + 8));
  }
  // Loads the scales of a thread's four columns in group number `group16` of 16 columns.
  __device__ __forceinline__ void load_columns(int group16, float (&scale)[4]) const {
    ptx::load_shared_v4(columns + static_cast<u32>(group16) * 64, scale);
  }
  // The first of them, where all columns of the group have the same scale.
  __device__ __forceinline__ float load_first_column(int group16) const {
    return __uint_as_float(ptx::shared_load<4>(columns + static_cast<u32>(group16) * 64));
  }
};

// Whether scales are applied once, to the finished accumulators.
__device__ __forceinline__ bool narrow_scales_once(const GemmScales& scales) {
  return scales.a_by == kScaleOne || scales.a_by == kScaleLine;
}

// Shared-memory address of a warpgroup's own copy of the scales of a tile.
template <class Config>
__device__ __forceinline__ u32 narrow_tile_scales(const GemmPipeline<Config>& pipeline, u32 group) {
  static_assert(Config::kConsumers * (64 + Config::kTileN) * 4 <= kGemmScaleBytes,
                "the scales must fit into their shared memory");
  return pipeline.base + Config::kShared.table_offset + group * ((64 + Config::kTileN) * 4);
}

// Starts to copy the scale of line `line` of a warpgroup's copy of the scales of a tile, which
// begins at shared address `to`. A scale of the whole operand has line_step 0, so that all lines
// read the same one.
template <class Config>
__device__ __forceinline__ void narrow_start_line_scale(const GemmNarrowArgs& narrow_args, i32 m,
                                                        i32 n, const GemmTileOrigin& tile, i32 line,
                                                        u32 to, u32 group) {
  const i32 tile_line =
      line < 64 ? static_cast<i32>(group) * 64 + line : Config::kTileM + line - 64;
  const NarrowLine from = narrow_line_in_tile<Config>(narrow_args, m, n, tile, tile_line);
  const bool exists = from.address != 0;
  ptx::async_copy<4>(to + narrow_scale_slot(static_cast<u32>(line)) * 4,
                     exists ? from.address : narrow_args.scales.a.address, exists ? 4 : 0);
}

// Starts to copy the scales of a tile's finished accumulators to shared memory.
template <class Config>
__device__ __forceinline__ void narrow_start_scale_copies(const GemmNarrowArgs& narrow_args,
                                                          i32 unit,
                                                          const GemmPipeline<Config>& pipeline,
                                                          u32 group) {
  if (!narrow_scales_once(narrow_args.scales)) return;
  const auto sizes = StreamSizes<Config>::read(narrow_args.stream);
  const GemmTileOrigin tile = stream_tile<Config>(narrow_args.stream, sizes, unit, 0);
  const u32 to = narrow_tile_scales<Config>(pipeline, group);
#pragma unroll 1
  for (auto line = static_cast<i32>(threadIdx.x % 128); line < 64 + narrow_args.stream.width;
       line += 128)
    narrow_start_line_scale<Config>(narrow_args, sizes.m, sizes.n, tile, line, to, group);
}

}  // namespace tw
