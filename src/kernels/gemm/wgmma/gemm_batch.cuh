// SPDX-License-Identifier: Apache-2.0
#pragma once
// The batched kernels on Hopper: D = alpha * A B for matrices at constant distances, with D written
// by the TMA. They share pipeline and arguments with the epilogue kernels (gemm_full.cuh) and leave
// out all else. Runs that need more take an epilogue kernel, see GemmKernel::does().
//
// One thread feeds an SM's tensor cores, so its loop is kept short: it loads nothing early, and
// keeps the shared-memory address in a register. If nvcc recomputed that, a k block would take the
// producer some 400 cycles instead of 200, of 512 that the tensor cores take. Each warp stages and
// stores its own 16 lines of D, so that no warp waits for another.

#include "kernels/gemm/epilogue/epilogue.cuh"
#include "kernels/gemm/wgmma/full_begin.cuh"

namespace tw {

// Loads this CTA's share of one k block.
template <class Config>
__device__ __forceinline__ void batch_load_block(const GemmEpilogueArgs& args,
                                                 const GemmPipeline<Config>& ring,
                                                 const GemmMapsAt& maps, const FullTile& tile,
                                                 i32 k, u32 rank) {
  const GemmSharers<Config> to(rank, 0);
  const u32 barrier = ring.full_barrier(ring.stage);
  full_load_share<!Config::kColumnA, false, Config::kTileM, Config::kTileK, Config::kClusterN>(
      args, ring.a(), maps.a, barrier, tile.m0, k, maps.a_index, to.rank_n, to.mask_a);
  full_load_share<!Config::kRowB, false, Config::kLinesB, Config::kTileK, Config::kClusterM>(
      args, ring.b(), maps.b, barrier, tile.n0, k, maps.b_index, to.rank_m, to.mask_b);
}

template <class Config>
__device__ void batch_produce(const GemmEpilogueArgs& args, GemmPipeline<Config> ring, u32 rank,
                              FullWalk walk) {
  const i32 units = args.base.units_m * args.base.units_n * args.batch;
  const i32 depth = args.base.k;
  ptx::grid_dependency_wait();
  for (i32 unit = walk.first; unit < units; unit += walk.step) {
    const FullTile tile = full_tile<Config>(args, args.base, unit, rank);
    const GemmMapsAt maps = gemm_maps_at(args, tile.z);
#pragma unroll 1
    for (i32 k = 0; k < depth; k += Config::kTileK) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(ring.stage), args.base.stage_bytes);
      batch_load_block<Config>(args, ring, maps, tile, k, rank);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(ring);
}

// Writes a warp's 16 lines of each piece, from element (line, at) of matrix z on.
template <class Config>
__device__ __forceinline__ void batch_write(float (&d)[Config::kPieces][Config::kAccumulators],
                                            const GemmEpilogueArgs& args, u32 staging, u32& turn,
                                            u32 warp, i32 line, i32 at, i32 z) {
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  static_assert(Config::kTileN % kContiguous == 0, "a tile must have whole slabs");
  const u32 lane = ptx::lane_id();
  const u32 own = warp * (kGemmStoreLines * kContiguous * Config::Out::kBytes);
#pragma unroll
  for (int piece = 0; piece < Config::kPieces; ++piece) {
    if (line + piece * 64 >= args.base.m) break;
#pragma unroll
    for (int slab = 0; slab < Config::kTileN / kContiguous; ++slab) {
      const i32 column = at + slab * kContiguous;
      if (column >= args.base.n) break;
      const u32 to = staging + turn++ % Config::kShared.slabs * Config::kShared.slab_bytes;
      // The same lane throughout: the thread that commits a group of bulk stores must wait for it.
      if (lane == 0) ptx::store_wait_read<static_cast<int>(Config::kShared.slabs) - 1>();
      ptx::sync_warp();
      epilogue_stage<Config>(d[piece], to, slab);
      ptx::fence_async_shared();
      ptx::sync_warp();
      if (lane == 0) {
        ptx::store_tile(&args.base.map_d, to + own, column, line + piece * 64, z);
        ptx::store_commit();
      }
    }
  }
}

template <class Config>
__device__ void batch_consume(const GemmEpilogueArgs& args, GemmPipeline<Config> ring, u32 rank,
                              u32 group, FullWalk walk) {
  const u32 staging = ring.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  const u32 first_piece = Config::kPingpong ? 0 : group * Config::kPieces;
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32) % 4;
  ptx::grid_dependency_wait();
  const i32 units = args.base.units_m * args.base.units_n * args.batch;
  const i32 depth = args.base.k;
  const i32 k_blocks = (depth + Config::kTileK - 1) / Config::kTileK;
  u32 turn = 0;
  if (Config::kPingpong) {
    if (group == 1) {
      ring.skip(k_blocks);
      gemm_pass_turn<Config>(1);
      walk.first += walk.step;
    }
    walk.step *= 2;
  }
  float d[Config::kPieces][Config::kAccumulators];
  for (i32 unit = walk.first; unit < units; unit += walk.step) {
    const FullTile tile = full_tile<Config>(args, args.base, unit, rank);
    gemm_take_turn<Config>(group);
    gemm_multiply<Config>(d, {0, depth}, ring, first_piece, 0, nullptr, [] {});
    gemm_pass_turn<Config>(group);
    gemm_wait_products<Config>(d);
    if (k_blocks > 0)
      gemm_release<Config>(ring, (ring.stage == 0 ? Config::kStages : ring.stage) - 1);
    if (Config::kPingpong) ring.skip(k_blocks);
    const float alpha = args.base.alpha;
    if (alpha != 1.0f || k_blocks == 0) {
#pragma unroll
      for (auto& piece : d)
#pragma unroll
        for (auto& value : piece) value = (k_blocks == 0 ? 0.0f : value) * alpha;
    }
    batch_write<Config>(d, args, staging, turn, warp,
                        tile.m0 + static_cast<i32>(first_piece * 64 + warp * 16), tile.n0, tile.z);
  }
  // Shared memory must outlive the TMA's reads. The end of the grid completes the writes.
  if (ptx::lane_id() == 0) ptx::store_wait_read<0>();
}

template <class Config>
__device__ void gemm_batch(const GemmEpilogueArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() : 0;
  full_begin<Config>(args, ring, warp);
  // In this order nvcc places the producer's code next to what runs before it.
  if (warp >= 4) {
    ptx::set_max_registers_up<Config::kConsumers == 2 ? 232 : 224>();
    batch_consume<Config>(args, ring, rank, Config::kConsumers == 1 ? 0 : warp / 4 - 1,
                          full_walk<Config>());
  } else {
    ptx::set_max_registers_down<Config::kConsumers == 2 ? 40 : 56>();
    if (warp == 0 && ptx::elect_one()) batch_produce<Config>(args, ring, rank, full_walk<Config>());
    __syncwarp();
    ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
  }
}

}  // namespace tw
