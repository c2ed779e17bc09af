// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producers of the grouped wgmma kernels. The kernels use swap-AB: the weights (the caller's B,
// map_b) are the pipeline's A, and the rows of a group (the caller's A, map_a) are its B.
// Config::kColumnA means that the weights are contiguous along n.
//
// The TMA loads the weights. It also loads the rows of a group unless they are gathered, in boxes
// of 8 to 128 rows, so that a short group loads few bytes. Gathered rows are copied by all 128
// threads of the producer warpgroup, 16 bytes at a time, because issuing a bulk copy per row would
// take longer than multiplying a k block.

#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/grouped/grouped_work.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Number of rows that a tile loads: its rows, rounded up to the eight rows of a swizzle atom.
__device__ __forceinline__ i32 grouped_loaded_rows(const GroupedWgmmaTile& tile) {
  return (tile.row_end - tile.row0 + 7) / 8 * 8;
}

// Loads a k block of the tile's weights. If B has a gate and is contiguous along k, eight gate
// columns and the eight linear columns that they multiply alternate. The map then has five
// dimensions: {k, column among eight, gate or linear, number of the eight, weight matrix}.
template <class Config>
__device__ __forceinline__ void grouped_load_weights(const GroupedArgs& args,
                                                     const GemmPipeline<Config>& pipeline,
                                                     const GroupedWgmmaTile& tile, i32 k) {
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  if constexpr (Config::kColumnA) {
#pragma unroll
    for (i32 box = 0; box < Config::kTileM / 64; ++box)
      ptx::load_tile(pipeline.a() + static_cast<u32>(box) * (Config::kTileK * 128), &args.map_b,
                     barrier, tile.column0 + box * 64, k, tile.weight_index);
  } else if (args.gate == kGateNone) {
    ptx::load_tile(pipeline.a(), &args.map_b, barrier, k, tile.column0, tile.weight_index);
  } else {
    ptx::load_tile(pipeline.a(), &args.map_b, barrier, k, 0, 0, tile.column0 / 16,
                   tile.weight_index);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_load_rows(const GroupedArgs& args,
                                                  const GemmPipeline<Config>& pipeline,
                                                  const GroupedWgmmaTile& tile, i32 loaded_rows,
                                                  i32 k) {
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  i32 row = 0;
  for (; loaded_rows - row >= grouped_box_rows(0); row += grouped_box_rows(0))
    ptx::load_tile(pipeline.b() + static_cast<u32>(row) * 128, &args.map_a[0], barrier, k,
                   tile.row0 + row);
#pragma unroll
  for (int box = 1; box < kGroupedBoxCount; ++box) {
    if ((loaded_rows & grouped_box_rows(box)) == 0) continue;
    ptx::load_tile(pipeline.b() + static_cast<u32>(row) * 128, &args.map_a[box], barrier, k,
                   tile.row0 + row);
    row += grouped_box_rows(box);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_produce(const GroupedArgs& args,
                                                const GroupedRowTileTable& table,
                                                const GroupedSchedule& schedule,
                                                GemmPipeline<Config> pipeline) {
  GroupedWork work(schedule);
  StreamItem item;
  while (work.next(schedule, &item)) {
    const GroupedWgmmaTile tile = grouped_wgmma_tile<Config>(args, table, schedule, item.unit);
    const i32 loaded_rows = grouped_loaded_rows(tile);
    const u32 bytes = Config::kShared.a_bytes + static_cast<u32>(loaded_rows) * 128;
#pragma unroll 1
    for (i32 block = item.begin; block < item.end; ++block) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), bytes);
      grouped_load_weights<Config>(args, pipeline, tile, block * Config::kTileK);
      grouped_load_rows<Config>(args, pipeline, tile, loaded_rows, block * Config::kTileK);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
}

// Threads of the producer warpgroup. Each arrives at a full barrier when its copies have landed.
// The copies are generic-proxy writes, but wgmma reads through the async proxy. The consumers issue
// the fence between the two (GemmPipeline::fence_copied), because in a producer it would wait for
// all copies in flight.
inline constexpr u32 kGatherThreads = 128;

// Copies a k block of the tile's rows of A, with the swizzle of the TMA. `row_list` is the
// shared-memory address of the list that grouped_look_up_rows() writes. `k` is a multiple of the
// elements in 16 bytes. The function reads a few entries of the list at a time: one by one, each
// copy would wait for shared memory, and a wide tile's k block would take longer to issue than to
// multiply.
template <class Config>
__device__ __forceinline__ void grouped_copy_rows(const GroupedArgs& args,
                                                  const GemmPipeline<Config>& pipeline,
                                                  u32 row_list, i32 loaded_rows, i32 k) {
  constexpr u32 kRowsAtOnce = Config::kNarrow ? 2 : 4, kStep = kGatherThreads / 8;
  constexpr u32 kElementBytes = Config::In::kBytes;
  constexpr i32 kPieceElements = 16 / kElementBytes;
  const u32 piece = threadIdx.x % 8;
  const i32 from = k + static_cast<i32>(piece) * kPieceElements;
  const u32 bytes = static_cast<u32>(min(max(args.k - from, 0), kPieceElements)) * kElementBytes;
#pragma unroll 1
  for (u32 first = threadIdx.x / 8; first < static_cast<u32>(loaded_rows);
       first += kRowsAtOnce * kStep) {
    i32 row[kRowsAtOnce];
#pragma unroll
    for (u32 i = 0; i < kRowsAtOnce; ++i)
      row[i] = first + i * kStep < static_cast<u32>(loaded_rows)
                   ? static_cast<i32>(ptx::shared_load<4>(row_list + (first + i * kStep) * 4))
                   : -1;
#pragma unroll
    for (u32 i = 0; i < kRowsAtOnce; ++i) {
      const u32 line = first + i * kStep;
      if (line >= static_cast<u32>(loaded_rows)) break;
      const bool inside = row[i] >= 0 && bytes > 0;
      ptx::async_copy<16>(
          pipeline.b() + line * 128 + (piece ^ line % 8) * 16,
          args.a + static_cast<u64>(inside ? row[i] * args.a_pitch + from : 0) * kElementBytes,
          inside ? bytes : 0);
    }
  }
}

// Writes a list to shared memory at `row_list`: for each row that the tile loads, the number of its
// row in the caller's A, or -1 for a row of zeros. The threads that copy the rows read the list.
template <class Config>
__device__ __forceinline__ void grouped_look_up_rows(const GroupedArgs& args,
                                                     const GroupedWgmmaTile& tile, u32 row_list,
                                                     i32 loaded_rows) {
  constexpr u32 kBarrier = 2;
  ptx::named_barrier(kBarrier, kGatherThreads);  // all have read the previous tile's list
  for (auto i = static_cast<i32>(threadIdx.x); i < loaded_rows; i += kGatherThreads) {
    const i32 r = tile.row0 + i;
    ptx::shared_store<4>(row_list + static_cast<u32>(i) * 4,
                         static_cast<u32>(r < tile.row_end ? grouped_a_row(args, r) : -1));
  }
  ptx::named_barrier(kBarrier, kGatherThreads);
}

template <class Config>
__device__ __forceinline__ void grouped_gather(const GroupedArgs& args,
                                               const GroupedRowTileTable& table,
                                               const GroupedSchedule& schedule,
                                               GemmPipeline<Config> pipeline, u32 row_list) {
  GroupedWork work(schedule);
  StreamItem item;
  while (work.next(schedule, &item)) {
    const GroupedWgmmaTile tile = grouped_wgmma_tile<Config>(args, table, schedule, item.unit);
    const i32 loaded_rows = grouped_loaded_rows(tile);
    grouped_look_up_rows<Config>(args, tile, row_list, loaded_rows);
#pragma unroll 1
    for (i32 block = item.begin; block < item.end; ++block) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), Config::kShared.a_bytes);
        grouped_load_weights<Config>(args, pipeline, tile, block * Config::kTileK);
      }
      grouped_copy_rows<Config>(args, pipeline, row_list, loaded_rows, block * Config::kTileK);
      ptx::mbarrier_arrive_copies(pipeline.full_barrier(pipeline.stage));
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
}

}  // namespace tw
