// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products of 8-bit floats, with or without scales, on Hopper. They differ from those in
// grouped_wgmma.cuh in four points:
// - The arguments select the type of D.
// - The accumulators of each k block of 128 are multiplied by the block's scales and added in f32,
//   even if the scales do not change along k, unless kGroupedFast is set (narrow_fast.cuh).
// - No tile is divided along k.
// - Each stage also has the block's scales, one for each column of B and each row of A in the tile.
//   All threads of the producer warpgroup copy them. Without scales these are 1, see
//   grouped_fill_scales().

#include "kernels/gemm/wgmma/narrow/narrow_fast.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_promote.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_write.cuh"
#include "kernels/grouped/grouped_scales.h"
#include "kernels/grouped/grouped_wgmma.cuh"

namespace tw {

/// Bytes of the scales of a stage. The scales of all stages lie at the end of the pipeline's
/// memory, in descending order of stages.
template <class Config>
inline constexpr u32 kGroupedStageScaleBytes = (Config::kTileM + Config::kTileN) * 4;
/// Shared address of the current stage's scales.
template <class Config>
__device__ __forceinline__ u32 grouped_stage_scales(const GemmPipeline<Config>& pipeline) {
  return pipeline.base + Config::kShared.d_offset -
         static_cast<u32>(pipeline.stage + 1) * kGroupedStageScaleBytes<Config>;
}

/// The column of B that line `line` of a tile holds, or -1 if there is no such column. `column0` is
/// the tile's first column. With a gate, eight gate columns and eight linear columns alternate in a
/// tile.
__device__ __forceinline__ i32 grouped_column_of_line(const GroupedArgs& args, i32 column0,
                                                      i32 line) {
  if (args.gate == kGateNone) return column0 + line < args.n ? column0 + line : -1;
  const i32 pair = column0 / 2 + line / 16 * 8 + line % 8, linear = line / 8 % 2;
  if (pair >= args.n / 2) return -1;
  return args.gate == kGateHalves ? pair + linear * (args.n / 2) : 2 * pair + linear;
}

/// Addresses of the scales that a thread copies for the next k block: those of one column of B and
/// of two rows of A. An address is 0 if there is no such column or row.
struct GroupedScaleAddresses {
  u64 column;
  u64 rows[2];
};

__device__ __forceinline__ GroupedScaleAddresses
grouped_scale_addresses(const GroupedScaledArgs& scaled_args, const GroupedWgmmaTile& tile) {
  const GemmScales& scales = scaled_args.scales;
  const auto thread = static_cast<i32>(threadIdx.x);
  const i32 column = grouped_column_of_line(scaled_args.grouped, tile.column0, thread);
  GroupedScaleAddresses addresses;
  // narrow_line() returns address 0 for column n.
  addresses.column = narrow_line(scales.b, scales.b_by, column < 0 ? scaled_args.grouped.n : column,
                                 scaled_args.grouped.n, tile.weight_index)
                         .address;
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const i32 r = tile.row0 + thread + i * static_cast<i32>(kGatherThreads);
    addresses.rows[i] = 0;
    const i32 a_row = r < tile.row_end ? grouped_a_row(scaled_args.grouped, r) : -1;
    if (a_row >= 0)
      addresses.rows[i] = scales.a.address +
                          static_cast<u64>(grouped_a_scale(scaled_args, tile.group, r, a_row)) * 4;
  }
  return addresses;
}

/// Starts the copies of a k block's scales to shared address `to`, and advances the addresses to
/// the next k block. Scales of columns and rows that do not exist become 0.
template <class Config>
__device__ __forceinline__ void grouped_copy_scales(const GroupedScaledArgs& scaled_args,
                                                    GroupedScaleAddresses& addresses, u32 to,
                                                    i32 loaded_rows) {
  const auto copy = [&](u64& from, u32 to_address, i64 step) {
    ptx::async_copy<4>(to_address, from != 0 ? from : scaled_args.scales.a.address,
                       from != 0 ? 4 : 0);
    if (from != 0) from += static_cast<u64>(step) * 4;
  };
  static_assert(Config::kTileM == kGatherThreads && Config::kTileN <= 2 * kGatherThreads,
                "a thread has a column and two rows");
  const auto thread = static_cast<i32>(threadIdx.x);
  to += narrow_scale_slot(threadIdx.x) * 4;  // of this thread's column; the rows' scales follow
  copy(addresses.column, to, scaled_args.scales.b.block_step);
#pragma unroll
  for (u32 i = 0; i < 2; ++i)
    if (thread + static_cast<i32>(i * kGatherThreads) < loaded_rows)
      copy(addresses.rows[i], to + (1 + i) * (kGatherThreads * 4), scaled_args.scales.a.block_step);
}

/// Sets the scales of all stages to 1 for operands without scales. The threads of the block divide
/// them; a barrier must follow.
template <class Config>
__device__ __forceinline__ void grouped_fill_scales(const GemmPipeline<Config>& pipeline) {
  const u32 end = pipeline.base + Config::kShared.d_offset;
  const u32 bytes = static_cast<u32>(pipeline.own_stages) * kGroupedStageScaleBytes<Config>;
  for (u32 i = threadIdx.x * 4; i < bytes; i += Config::kThreads * 4)
    ptx::store_shared(end - bytes + i, 1.0f);
}

/// Whether rows of A are gathered. There is no register to keep this in.
__device__ __forceinline__ bool grouped_gathers(const GroupedArgs& args) {
  return args.a_rows != 0;
}

/// Loads the stages of all tiles of this block. All threads of the producer warpgroup call it:
/// thread 0 starts the TMA loads, and all threads copy scales and gathered rows.
template <class Config>
__device__ __forceinline__ void grouped_scaled_produce(const GroupedScaledArgs& scaled_args,
                                                       const GroupedRowTileTable& table,
                                                       const GroupedSchedule& schedule,
                                                       GemmPipeline<Config> pipeline,
                                                       u32 row_list) {
  const GroupedArgs& args = scaled_args.grouped;
  for (auto unit = static_cast<i32>(ptx::reread_block_id()); unit < schedule.units;
       unit += static_cast<i32>(ptx::reread_grid_size())) {
    const GroupedWgmmaTile tile = grouped_wgmma_tile<Config>(args, table, schedule, unit);
    const i32 loaded_rows = grouped_loaded_rows(tile);
    GroupedScaleAddresses addresses = grouped_scale_addresses(scaled_args, tile);
    if (grouped_gathers(args)) grouped_look_up_rows<Config>(args, tile, row_list, loaded_rows);
#pragma unroll 1
    for (i32 block = 0; block < schedule.k_blocks; ++block) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      if (threadIdx.x == 0) {
        const u32 bytes = grouped_gathers(args) ? 0 : static_cast<u32>(loaded_rows) * 128;
        ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage),
                                    Config::kShared.a_bytes + bytes);
        grouped_load_weights<Config>(args, pipeline, tile, block * Config::kTileK);
        if (!grouped_gathers(args))
          grouped_load_rows<Config>(args, pipeline, tile, loaded_rows, block * Config::kTileK);
      }
      if (grouped_gathers(args))
        grouped_copy_rows<Config>(args, pipeline, row_list, loaded_rows, block * Config::kTileK);
      if (scaled_args.scales.a_by != kScaleNone)
        grouped_copy_scales<Config>(scaled_args, addresses, grouped_stage_scales<Config>(pipeline),
                                    loaded_rows);
      ptx::mbarrier_arrive_copies(pipeline.full_barrier(pipeline.stage));
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
}

/// The functions that NarrowLoop and NarrowFastLoop call in grouped kernels.
template <class Config>
struct GroupedStages {
  const GroupedArgs& args;
  __device__ __forceinline__ void before_reading(const GemmPipeline<Config>&) const {
    // wgmma may read rows that threads have copied only after a proxy fence.
    if (grouped_gathers(args)) ptx::fence_async_shared();
  }
  __device__ __forceinline__ u32 scales(const GemmPipeline<Config>& pipeline, i32 /*width*/) const {
    return ptx::opaque(grouped_stage_scales<Config>(pipeline));
  }
};

/// Writes a warpgroup's accumulators to D with the fastest function that the run's epilogue allows.
template <class Config>
__device__ __forceinline__ void grouped_scaled_write_tile(float (&d)[Config::kAccumulators],
                                                          const GroupedScaledArgs& scaled_args,
                                                          const GroupedWgmmaTile& tile,
                                                          const GroupedRowTargets& targets,
                                                          u32 staging, u32 group) {
  const GroupedArgs& args = scaled_args.grouped;
  const u32 type = scaled_args.scales.d_type;
  const auto write = [&](auto out) {
    using Typed = NarrowConfigWithOut<Config, decltype(out)>;
    if (!grouped_can_write_pieces<Typed>(args)) return false;
    grouped_write_pieces<Typed>(d, args, tile, targets, staging, group);
    return true;
  };
  const bool written = type == kFormatF32   ? write(F32{})
                       : type == kFormatF16 ? write(F16{})
                                            : write(Bf16{});
  if (written) return;
  grouped_write_general<Config>(d, args, tile, targets, staging, group, scaled_bytes(type),
                                [&](u64 to, i32 count, const float(&v)[8]) {
                                  grouped_store_or_add(args, type, to, count, v);
                                });
}

/// Whether each thread's two rows of a tile, which are columns of B, have the same scales.
__device__ __forceinline__ bool grouped_shares_scales(const GroupedScaledArgs& scaled_args) {
  const GemmScales& scales = scaled_args.scales;
  return scales.b_by <= kScaleOne ||
         (scales.b_by == kScaleBlock && scaled_args.grouped.gate == kGateNone);
}

/// Sets d to the sum of a tile, multiplied by its scales.
template <class Config>
__device__ __forceinline__ void grouped_scaled_sum(float (&d)[Config::kAccumulators],
                                                   const GroupedScaledArgs& scaled_args,
                                                   i32 k_blocks, i32 width,
                                                   GemmPipeline<Config>& pipeline, u32 group) {
  const GroupedStages<Config> stages{scaled_args.grouped};
  if (scaled_args.grouped.flags & kGroupedFast)
    NarrowFastLoop<Config, GroupedStages<Config>>(stages, pipeline, group).sum(d, k_blocks, width);
  else if (grouped_shares_scales(scaled_args))
    NarrowLoop<Config, GroupedStages<Config>, NarrowScaling::shared_row>(stages, pipeline, group)
        .sum(d, k_blocks, width);
  else
    NarrowLoop<Config, GroupedStages<Config>, NarrowScaling::by_row>(stages, pipeline, group)
        .sum(d, k_blocks, width);
}

/// Multiplies and writes all tiles of this block.
template <class Config>
__device__ __forceinline__ void grouped_scaled_consume(const GroupedScaledArgs& scaled_args,
                                                       const GroupedRowTileTable& table,
                                                       const GroupedSchedule& schedule,
                                                       GemmPipeline<Config> pipeline, u32 group) {
  const GroupedArgs& args = scaled_args.grouped;
  GroupedRowTargets targets(args, pipeline.base + GroupedSmemOffsets<Config>::kDRows +
                                      group * GroupedSmemOffsets<Config>::kDRowBytes);
  float d[Config::kAccumulators];
  for (auto unit = static_cast<i32>(ptx::reread_block_id()); unit < schedule.units;
       unit += static_cast<i32>(ptx::reread_grid_size())) {
    grouped_scaled_sum<Config>(d, scaled_args, schedule.k_blocks,
                               grouped_wgmma_tile<Config>(args, table, schedule, unit).width,
                               pipeline, group);
    // The tile is computed again, because the main loop has no registers to keep it in. opaque()
    // keeps nvcc from reusing the first result.
    const GroupedWgmmaTile tile = grouped_wgmma_tile<Config>(
        args, table, schedule, static_cast<i32>(ptx::opaque(static_cast<u32>(unit))));
    targets.read(args, tile);
    targets.put(group);
    grouped_scaled_write_tile<Config>(d, scaled_args, tile, targets,
                                      grouped_staging<Config>(pipeline.base, group), group);
  }
}

template <class Config>
__device__ __forceinline__ void grouped_scaled_wgmma(const GroupedScaledArgs& scaled_args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  using Offsets = GroupedSmemOffsets<Config>;
  constexpr auto kThreads = static_cast<i32>(Config::kThreads);
  const GroupedArgs& args = scaled_args.grouped;
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  // Threads copy scales into every stage, and each warp of a consumer warpgroup releases it.
  if (warp == 0) grouped_init_barriers<Config>(args, pipeline, true, 4 * Config::kReaders);
  ptx::grid_dependency_wait();
  auto& table = *reinterpret_cast<GroupedRowTileTable*>(gemm_shared_memory + Offsets::kTable);
  grouped_fill_row_tiles<kThreads, Config::kTileN>(table, args);
  const i32 widest = grouped_width(min(table.max_rows(), Config::kTileN)).width;
  const u32 step = Config::kShared.a_bytes + static_cast<u32>(widest) * 128;
  pipeline.set(step, false);
  // The scales of the stages share the pipeline's memory.
  pipeline.own_stages = static_cast<i32>(
      min(Config::kShared.d_offset / (step + kGroupedStageScaleBytes<Config>), kGemmMaxStages));
  auto& schedule = *reinterpret_cast<GroupedSchedule*>(gemm_shared_memory + Offsets::kSchedule);
  if (threadIdx.x == 0) schedule = grouped_make_schedule<Config>(args, table, widest);
  if (scaled_args.scales.a_by == kScaleNone) grouped_fill_scales<Config>(pipeline);
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kConsumer>();
    grouped_scaled_consume<Config>(scaled_args, table, schedule, pipeline, warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kProducer>();
    grouped_scaled_produce<Config>(scaled_args, table, schedule, pipeline,
                                   pipeline.base + Offsets::kRowList);
  }
}

}  // namespace tw
