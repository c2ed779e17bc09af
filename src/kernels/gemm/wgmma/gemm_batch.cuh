// SPDX-License-Identifier: Apache-2.0
#pragma once
// The batched kernels on Hopper: D = alpha * A B for matrices at constant distances, with D written
// by the TMA. They have the pipeline and the arguments of the epilogue kernels (gemm_full.cuh), but
// no epilogue. Runs that need one use an epilogue kernel, see GemmKernel::supports().
//
// One thread feeds an SM's tensor cores, so its loop is kept short: it loads nothing early, and
// keeps the shared-memory address in a register. If nvcc recomputed the address, a k block would
// take the producer some 400 cycles instead of 200; the tensor cores take 512. Each warp stages and
// stores its own 16 lines of D, so that no warp waits for another.
// "full" in names marks code of the epilogue kernels. Batched kernels use some of it.

#include "kernels/gemm/epilogue/epilogue.cuh"
#include "kernels/gemm/wgmma/full_begin.cuh"

namespace tw {

// Loads this CTA's share of one k block.
template <class Config>
__device__ __forceinline__ void batch_load_block(const GemmEpilogueArgs& args,
                                                 const GemmPipeline<Config>& pipeline,
                                                 const GemmProductMaps& maps,
                                                 const GemmTileOrigin& tile, i32 k, u32 rank) {
  const GemmSharers<Config> to(rank, 0);
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  full_load_share<!Config::kColumnA, false, Config::kTileM, Config::kTileK, Config::kClusterN>(
      args, pipeline.a(), maps.a, barrier, tile.m0, k, maps.a_index, to.rank_n, to.mask_a);
  full_load_share<!Config::kRowB, false, Config::kStageColumnsB, Config::kTileK, Config::kClusterM>(
      args, pipeline.b(), maps.b, barrier, tile.n0, k, maps.b_index, to.rank_m, to.mask_b);
}

template <class Config>
__device__ void batch_produce(const GemmEpilogueArgs& args, GemmPipeline<Config> pipeline, u32 rank,
                              FullSchedule schedule) {
  const i32 units = args.base.units_m * args.base.units_n * args.batch;
  const i32 depth = args.base.k;
  ptx::grid_dependency_wait();
  for (i32 unit = schedule.first; unit < units; unit += schedule.step) {
    const GemmTileOrigin tile = full_tile<Config>(args, args.base, unit, rank);
    const GemmProductMaps maps = gemm_product_maps(args, tile.z);
#pragma unroll 1
    for (i32 k = 0; k < depth; k += Config::kTileK) {
      ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
      ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.base.stage_bytes);
      batch_load_block<Config>(args, pipeline, maps, tile, k, rank);
      pipeline.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(pipeline);
}

// Writes a warp's 16 lines of each row block, from element (line, at) of matrix z on.
template <class Config>
__device__ __forceinline__ void batch_write(float (&d)[Config::kRowBlocks][Config::kAccumulators],
                                            const GemmEpilogueArgs& args, u32 staging,
                                            u32& slabs_written, u32 warp, i32 line, i32 at, i32 z) {
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  static_assert(Config::kTileN % kContiguous == 0, "a tile must have whole slabs");
  const u32 lane = ptx::lane_id();
  const u32 own = warp * (kGemmStoreLines * kContiguous * Config::Out::kBytes);
#pragma unroll
  for (int row_block = 0; row_block < Config::kRowBlocks; ++row_block) {
    if (line + row_block * 64 >= args.base.m) break;
#pragma unroll
    for (int slab = 0; slab < Config::kTileN / kContiguous; ++slab) {
      const i32 column = at + slab * kContiguous;
      if (column >= args.base.n) break;
      const u32 to = staging + slabs_written++ % Config::kShared.slabs * Config::kShared.slab_bytes;
      // The same lane throughout: the thread that commits a group of bulk stores must wait for it.
      if (lane == 0) ptx::store_wait_read<static_cast<int>(Config::kShared.slabs) - 1>();
      ptx::sync_warp();
      epilogue_stage<Config>(d[row_block], to, slab);
      ptx::fence_async_shared();
      ptx::sync_warp();
      if (lane == 0) {
        ptx::store_tile(&args.base.map_d, to + own, column, line + row_block * 64, z);
        ptx::store_commit();
      }
    }
  }
}

template <class Config>
__device__ void batch_consume(const GemmEpilogueArgs& args, GemmPipeline<Config> pipeline, u32 rank,
                              u32 group, FullSchedule schedule) {
  const u32 staging = pipeline.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  const u32 first_row_block = Config::kPingpong ? 0 : group * Config::kRowBlocks;
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32) % 4;
  ptx::grid_dependency_wait();
  const i32 units = args.base.units_m * args.base.units_n * args.batch;
  const i32 depth = args.base.k;
  const i32 k_blocks = (depth + Config::kTileK - 1) / Config::kTileK;
  u32 slabs_written = 0;
  if (Config::kPingpong) {
    if (group == 1) {
      pipeline.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      schedule.first += schedule.step;
    }
    schedule.step *= 2;
  }
  float d[Config::kRowBlocks][Config::kAccumulators];
  for (i32 unit = schedule.first; unit < units; unit += schedule.step) {
    const GemmTileOrigin tile = full_tile<Config>(args, args.base, unit, rank);
    gemm_take_turn<Config>(group);
    gemm_multiply<Config>(d, {0, depth}, pipeline, first_row_block, 0, nullptr, [] {});
    gemm_pass_turn<Config>(group);
    gemm_wait_products<Config>(d);
    if (k_blocks > 0)
      gemm_release<Config>(pipeline, (pipeline.stage == 0 ? Config::kStages : pipeline.stage) - 1);
    if (Config::kPingpong) pipeline.skip(k_blocks);
    const float alpha = args.base.alpha;
    if (alpha != 1.0f || k_blocks == 0) {
#pragma unroll
      for (auto& row_block : d)
#pragma unroll
        for (auto& value : row_block) value = (k_blocks == 0 ? 0.0f : value) * alpha;
    }
    batch_write<Config>(d, args, staging, slabs_written, warp,
                        tile.m0 + static_cast<i32>(first_row_block * 64 + warp * 16), tile.n0,
                        tile.z);
  }
  // Shared memory must outlive the TMA's reads. The end of the grid completes the writes.
  if (ptx::lane_id() == 0) ptx::store_wait_read<0>();
}

template <class Config>
__device__ void gemm_batch(const GemmEpilogueArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() : 0;
  full_begin<Config>(args, pipeline, warp);
  // With the consumers first, nvcc places the producer's code next to what runs before it.
  if (warp >= 4) {
    ptx::set_max_registers_up<Config::kConsumers == 2 ? 232 : 224>();
    batch_consume<Config>(args, pipeline, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1,
                          full_schedule<Config>());
  } else {
    ptx::set_max_registers_down<Config::kConsumers == 2 ? 40 : 56>();
    if (warp == 0 && ptx::elect_one())
      batch_produce<Config>(args, pipeline, rank, full_schedule<Config>());
    __syncwarp();
    ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
  }
}

}  // namespace tw
