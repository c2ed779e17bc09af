// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B + beta C on Hopper: persistent, warp-specialised, TMA in and out.
//
//   warpgroup 0            one thread loads: waits for a free stage, sends A and B of one k block
//   warpgroups 1 .. tm/64  64 rows of the tile each: wgmma from shared memory, then the epilogue
//
// A ring of `kStages` stages, each with two barriers: full (bytes have landed) and empty (every
// consumer warp that reads it, in every block of the cluster that wrote it, is done). Blocks of a
// cluster that share B (along m) or A (along n) load a part each and multicast it.
// While the consumers write a tile out, the producer already fills the ring for the next one.

#include "kernels/gemm/gemm.h"
#include "kernels/parts/epilogue.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/wgmma.cuh"

namespace tw {

template <class InType, class OutType, int kOrderA, int kOrderB, int kM, int kN, int kK, int kStage,
          int kAlongM, int kAlongN>
struct GemmConfig {
  using In = InType;
  using Out = OutType;
  static constexpr int kColumnA = kOrderA;   // 1: contiguous along m
  static constexpr int kRowB = 1 - kOrderB;  // 1: contiguous along n
  static constexpr i32 kTileM = kM, kTileN = kN, kTileK = kK, kStages = kStage;
  static constexpr u32 kClusterM = kAlongM, kClusterN = kAlongN;
  static constexpr u32 kCluster = kClusterM * kClusterN;
  static constexpr u32 kConsumers = kM / 64;  // warpgroups
  static constexpr u32 kThreads = 128 * (1 + kConsumers);
  static constexpr GemmShared kShared = gemm_shared(kM, kN, kK, kStage, In::kBytes);
  static_assert(kK * In::kBytes == 128, "a k block is one swizzle span");
  static_assert(kM % (64 * kAlongN) == 0 && kN % (64 * kAlongM) == 0, "parts are whole boxes");
};

template <class Config>
struct GemmRing {
  u32 base;  // shared address of stage 0
  u32 full;  // of the barriers
  u32 empty;
  i32 stage = 0;
  u32 phase = 0;

  __device__ explicit GemmRing(u32 shared)
      : base(shared),
        full(shared + Config::kShared.barriers),
        empty(shared + Config::kShared.barriers + 8 * Config::kStages) {}
  __device__ u32 a() const {
    return base + static_cast<u32>(stage) * (Config::kShared.a_bytes + Config::kShared.b_bytes);
  }
  __device__ u32 b() const { return a() + Config::kShared.a_bytes; }
  __device__ u32 full_barrier() const { return full + 8u * static_cast<u32>(stage); }
  __device__ u32 empty_barrier(i32 of) const { return empty + 8u * static_cast<u32>(of); }
  __device__ void advance() {
    if (++stage == Config::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// One operand's part of a k block: `rows` of the tile from `first`, in boxes of 64 elements along
// the contiguous dimension. Where that is k, one box holds all rows; else one box holds 64 rows.
template <int kAcrossK, u32 kRows>
__device__ __forceinline__ void gemm_load_part(u32 shared, const KernelMap* map, u32 barrier,
                                               i32 first, i32 k, u32 mask) {
  constexpr u32 kBoxes = kAcrossK ? kRows / 64 : 1;
#pragma unroll
  for (u32 box = 0; box < kBoxes; ++box) {
    const i32 x = kAcrossK ? first + static_cast<i32>(64 * box) : k;
    const i32 y = kAcrossK ? k : first;
    const u32 to = shared + box * (64 * 128);
    if (mask == 0)
      ptx::load_2d(to, map, barrier, x, y);
    else
      ptx::load_2d_multicast(to, map, barrier, x, y, mask);
  }
}

template <class Config>
__device__ void gemm_produce(const GemmArgs& args, GemmRing<Config> ring, u32 rank, i32 first_unit,
                             i32 unit_step) {
  constexpr u32 kPartA = Config::kTileM / Config::kClusterN;
  constexpr u32 kPartB = Config::kTileN / Config::kClusterM;
  const u32 rank_m = rank % Config::kClusterM;
  const u32 rank_n = rank / Config::kClusterM;
  // Blocks that want the same A lie along n, those that want the same B along m.
  const u32 mask_a = Config::kClusterN > 1 ? (1u | 1u << Config::kClusterM) << rank_m : 0;
  const u32 mask_b = Config::kClusterM > 1 ? 3u << (rank_n * Config::kClusterM) : 0;
  static_assert(Config::kClusterM <= 2 && Config::kClusterN <= 2, "the masks above");
  const i32 units = args.units_m * args.units_n;
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    i32 unit_m, unit_n;
    gemm_unit(args, unit, &unit_m, &unit_n);
    const i32 m0 =
        (unit_m * static_cast<i32>(Config::kClusterM) + static_cast<i32>(rank_m)) * Config::kTileM +
        static_cast<i32>(rank_n * kPartA) * (Config::kClusterN > 1);
    const i32 n0 =
        (unit_n * static_cast<i32>(Config::kClusterN) + static_cast<i32>(rank_n)) * Config::kTileN +
        static_cast<i32>(rank_m * kPartB) * (Config::kClusterM > 1);
    for (i32 k = 0; k < args.k; k += Config::kTileK) {
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(ring.full_barrier(),
                                  Config::kShared.a_bytes + Config::kShared.b_bytes);
      const u32 a = ring.a() + (Config::kClusterN > 1 ? rank_n * kPartA * 128 : 0);
      const u32 b = ring.b() + (Config::kClusterM > 1 ? rank_m * kPartB * 128 : 0);
      gemm_load_part<Config::kColumnA, kPartA>(a, &args.map_a, ring.full_barrier(), m0, k, mask_a);
      gemm_load_part<Config::kRowB, kPartB>(b, &args.map_b, ring.full_barrier(), n0, k, mask_b);
      ring.advance();
    }
  }
}

template <class Config>
__device__ __forceinline__ void gemm_release(const GemmRing<Config>& ring, i32 stage) {
  const u32 lane = ptx::lane_id();
  if (Config::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(ring.empty_barrier(stage));
  } else if (lane < Config::kCluster) {
    ptx::mbarrier_arrive_remote(ring.empty_barrier(stage), lane);
  }
}

// All k blocks of one tile into the accumulators. The products of a block are still running when
// the next block's are sent; a stage is given back one block later.
template <class Config>
__device__ __forceinline__ void gemm_accumulate(float (&d)[Config::kTileN / 2],
                                                const GemmArgs& args, GemmRing<Config>& ring,
                                                u32 group) {
  constexpr u32 kStepA = Config::kColumnA ? 16 * 128 : 32;  // 16 elements along k, in bytes
  constexpr u32 kStepB = Config::kRowB ? 16 * 128 : 32;
  if (args.k <= 0) {
#pragma unroll
    for (float& value : d) value = 0.0f;
  }
  i32 previous = -1;
  u32 accumulate = 0;
  for (i32 k = 0; k < args.k; k += Config::kTileK) {
    ptx::mbarrier_wait(ring.full_barrier(), ring.phase);
    const u64 a = ptx::wgmma_descriptor(ring.a() + group * (64 * 128), 64 * 128, 1024);
    const u64 b = ptx::wgmma_descriptor(ring.b(), 64 * 128, 1024);
    ptx::wgmma_fence();
#pragma unroll
    for (u32 step = 0; step < Config::kTileK / 16; ++step) {
      ptx::wgmma<Config::kColumnA, Config::kRowB>(
          d, typename Config::In{}, a + step * (kStepA >> 4), b + step * (kStepB >> 4), accumulate);
      accumulate = 1;
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (previous >= 0) gemm_release<Config>(ring, previous);
    previous = ring.stage;
    ring.advance();
  }
  ptx::wgmma_wait<0>();
  if (previous >= 0) gemm_release<Config>(ring, previous);
}

template <class Config>
__device__ void gemm_consume(const GemmArgs& args, GemmRing<Config> ring, u32 rank, u32 group,
                             i32 first_unit, i32 unit_step) {
  const u32 staging = ring.base + Config::kShared.d_offset + group * Config::kShared.d_bytes;
  const i32 units = args.units_m * args.units_n;
  float d[Config::kTileN / 2];
  for (i32 unit = first_unit; unit < units; unit += unit_step) {
    i32 unit_m, unit_n;
    gemm_unit(args, unit, &unit_m, &unit_n);
    gemm_accumulate<Config>(d, args, ring, group);
    const i32 m0 = (unit_m * static_cast<i32>(Config::kClusterM) +
                    static_cast<i32>(rank % Config::kClusterM)) *
                       Config::kTileM +
                   static_cast<i32>(group) * 64;
    const i32 n0 = (unit_n * static_cast<i32>(Config::kClusterN) +
                    static_cast<i32>(rank / Config::kClusterM)) *
                   Config::kTileN;
    epilogue<typename Config::Out>(d, args, staging, group, m0, n0);
  }
  epilogue_finish();
}

template <class Config>
__device__ void gemm_wgmma(const GemmArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmRing<Config> ring(ptx::shared_address(gemm_shared_memory));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 rank = Config::kCluster > 1 ? ptx::cluster_rank() : 0;

  if (warp == 0 && ptx::elect_one()) {
    ptx::prefetch_map(&args.map_a);
    ptx::prefetch_map(&args.map_b);
    if (args.plain_from > 0) ptx::prefetch_map(&args.map_d);
    for (i32 stage = 0; stage < Config::kStages; ++stage) {
      ptx::mbarrier_init(ring.full + 8u * static_cast<u32>(stage), 1);
      ptx::mbarrier_init(ring.empty_barrier(stage), 4 * Config::kConsumers * Config::kCluster);
    }
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
  if (Config::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }

  const auto first_unit = static_cast<i32>(blockIdx.x / Config::kCluster);
  const auto unit_step = static_cast<i32>(gridDim.x / Config::kCluster);
  if (warp < 4) {
    ptx::set_max_registers_down<Config::kConsumers == 2 ? 40 : 56>();
    if (warp == 0 && ptx::elect_one())
      gemm_produce<Config>(args, ring, rank, first_unit, unit_step);
    __syncwarp();
  } else {
    ptx::set_max_registers_up<Config::kConsumers == 2 ? 232 : 224>();
    gemm_consume<Config>(args, ring, rank, warp / 4 - 1, first_unit, unit_step);
  }
  // No block leaves while another may still write into it or arrive on its barriers.
  if (Config::kCluster > 1) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

}  // namespace tw
