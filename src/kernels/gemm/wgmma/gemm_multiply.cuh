// SPDX-License-Identifier: Apache-2.0
#pragma once
// The main loop of the consumer warpgroups: wgmma products of a tile's k blocks, and the addition
// of several accumulation chains in registers.

#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/ptx/wgmma.cuh"

namespace tw {

// Releases the stage to every CTA that loads into it: this one, and those that multicast to it,
// which are in its row or column of CTAs. One warp arrives for its warpgroup, since wgmma
// completes for all warps of a warpgroup at once.
//
// With split-K a hardware cluster consists of several groups of kCluster CTAs, one for each part of
// k: `hardware_rank` is the rank in the hardware cluster, `rank` that in the group, and
// hardware_rank - rank is the group's first CTA. If the group is a single row or column, the stage
// is released to all its CTAs, so that only the group's first CTA is needed. Without split-K this
// is CTA 0, because the group is the whole hardware cluster. Both ranks may then be set to 0, which
// saves reading the special register.
template <class Config>
__device__ __forceinline__ void gemm_release(const GemmPipeline<Config>& pipeline, i32 stage) {
  if (threadIdx.x / 32 % 4 != 0) return;
  const u32 lane = ptx::lane_id();
  if (Config::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(pipeline.empty_barrier(stage));
  } else if (lane < Config::kCluster) {
    constexpr bool kInLine = Config::kClusterM == 1 || Config::kClusterN == 1;
    const u32 hardware_rank = kInLine && !Config::kSplit ? 0 : ptx::cluster_rank();
    const u32 rank = hardware_rank % Config::kCluster;
    if (kInLine || lane % Config::kClusterM == rank % Config::kClusterM ||
        lane / Config::kClusterM == rank / Config::kClusterM)
      ptx::mbarrier_arrive_remote(
          ptx::cluster_address(pipeline.empty_barrier(stage), hardware_rank - rank + lane));
  }
}

// A boolean constant that a generic lambda can take as an argument.
template <bool kValue>
struct GemmConstant {
  __device__ constexpr operator bool() const { return kValue; }
};

// Multiplies the k blocks of `span` into d. `accumulate` 0 overwrites d, 1 adds to d. `tile`, if
// not null, receives the tile's position if the span begins at 0. A stage is released after the
// next one's products are issued; the caller waits for the last products and releases the last
// stage. meanwhile() is called while products run: once for each k block but the first, or once if
// there is only one. `width` is an index into kGemmWidths; only kernels with kAnyWidth or kNarrow
// use it.
template <class Config, class Meanwhile>
__device__ __forceinline__ void gemm_multiply(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], GemmSpan span,
    GemmPipeline<Config>& pipeline, u32 first_row_block, u32 accumulate, GemmTilePosition* tile,
    Meanwhile meanwhile, u32 width = 0) {
  constexpr u32 kStepA = Config::kColumnA ? 16 * 128 : 32;  // 16 elements along k, in bytes
  constexpr u32 kStepB = Config::kRowB ? 16 * 128 : 32;
  constexpr u32 kSteps = Config::kTileK / 16;
  // The part of a descriptor that changes from stage to stage is updated incrementally. Recomputing
  // it would delay the products after each barrier, which small tiles cannot hide. Addresses in
  // descriptors are in units of 16 bytes. A stage holds 128 bytes of each of a row block's 64 rows.
  const u32 stage_step = pipeline.step() / 16;
  const u64 descriptor = ptx::wgmma_descriptor(pipeline.base, 64 * 128, 1024);
  const u64 upper = descriptor >> 32 << 32;
  const u32 first_address = static_cast<u32>(descriptor) + first_row_block * (64 * 128 / 16);
  const u32 to_b = Config::kShared.a_bytes / 16 - first_row_block * (64 * 128 / 16);
  u32 address = first_address + static_cast<u32>(pipeline.stage) * stage_step;
  bool arrived = false;
  // Issues the products of one k block. `is_first_block` is a GemmConstant if kPeelsFirstBlock,
  // else a bool.
  const auto send = [&](auto is_first_block) {
    if (!arrived) ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
    pipeline.fence_copied();
    if (is_first_block && tile != nullptr && span.begin == 0)
      *tile = gemm_published_tile<Config>(pipeline);
    const u64 a = upper | address, b = upper | (address + to_b);
    pipeline.advance();
    address = pipeline.stage == 0 ? first_address : address + stage_step;
    if constexpr (Config::kNarrow) {
      ptx::wgmma_any_width(d[0], typename Config::In::A{}, typename Config::In::B{}, a, b,
                           is_first_block ? accumulate : 1, width);
    } else if constexpr (Config::kAnyWidth) {
      ptx::wgmma_any_width<Config::kColumnA, Config::kRowB, kStepA / 16, kStepB / 16>(
          d[0], typename Config::In{}, a, b, is_first_block ? accumulate : 1, width);
    } else {
      ptx::wgmma_fence();
#pragma unroll
      for (u32 step = 0; step < kSteps; ++step) {
#pragma unroll
        for (u32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
          ptx::wgmma<Config::kColumnA, Config::kRowB>(
              d[row_block], typename Config::In{},
              a + (row_block * (64 * 128) + step * kStepA) / 16, b + step * kStepB / 16,
              is_first_block && step == 0 ? accumulate : 1);
        if (Config::kTestsNextStage && step == kSteps / 2 - 1)
          arrived = ptx::mbarrier_test_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
      }
      ptx::wgmma_commit();
    }
  };
  i32 k = span.begin;
  i32 stage = -1;
  if constexpr (Config::kPeelsFirstBlock) {
    if (k >= span.end) return;
    stage = pipeline.stage;
    send(GemmConstant<true>{});
    k += Config::kTileK;
    if (k >= span.end) meanwhile();
  }
  for (; k < span.end; k += Config::kTileK) {
    const i32 previous = stage;
    stage = pipeline.stage;
    if constexpr (Config::kPeelsFirstBlock)
      send(GemmConstant<false>{});
    else
      send(k == span.begin);
    const bool has_previous = Config::kPeelsFirstBlock || previous >= 0;
    if (has_previous || k + Config::kTileK >= span.end) meanwhile();
    ptx::wgmma_wait<1>();
    if (has_previous) gemm_release<Config>(pipeline, previous);
  }
}

// Makes a value opaque to the compiler at this point, so that no use of it moves above.
__device__ __forceinline__ void gemm_pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}
__device__ __forceinline__ void gemm_pin(u32& value) {
  asm volatile("" : "+r"(value)::"memory");
}
__device__ __forceinline__ void gemm_pin(i32& value) {
  asm volatile("" : "+r"(value)::"memory");
}

// Waits for all products. Pinning stops the compiler from moving uses of d above the wait.
template <class Config>
__device__ __forceinline__ void gemm_wait_products(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators]) {
  ptx::wgmma_wait<0>();
#pragma unroll
  for (auto& row_block : d)
#pragma unroll
    for (auto& value : row_block) gemm_pin(value);
}

// Sets all accumulators to 0.
template <class Config>
__device__ __forceinline__ void gemm_clear_accumulators(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators]) {
#pragma unroll
  for (auto& row_block : d)
#pragma unroll
    for (auto& value : row_block) value = 0;
}

// Defines all accumulators for the compiler, without an instruction: the first product overwrites
// them. Clearing them would take an instruction for each two accumulators of a tile.
template <class Config>
__device__ __forceinline__ void gemm_define_accumulators(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators]) {
#pragma unroll
  for (auto& row_block : d)
#pragma unroll
    for (auto& value : row_block) {
      if constexpr (Config::kIntegerSums)
        asm volatile("" : "=r"(value));
      else
        asm volatile("" : "=f"(value));
    }
}

// Sets d to the products of the span, or to 0 if the span is empty.
template <class Config>
__device__ __forceinline__ void gemm_accumulate(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], GemmSpan span,
    GemmPipeline<Config>& pipeline, u32 first_row_block) {
  if (span.end <= span.begin) gemm_clear_accumulators<Config>(d);
  gemm_multiply<Config>(d, span, pipeline, first_row_block, 0, nullptr, [] {});
}

// Calls use(sums) with the accumulators of one row block as floats, in the order of wgmma's
// fragment. f32 accumulators are passed by reference, since a copy would take as many registers
// again.
template <class Config, class Use>
__device__ __forceinline__ void gemm_with_floats(typename Config::Sum (&d)[Config::kAccumulators],
                                                 Use use) {
  if constexpr (Config::kF16Accumulators) {
    float sums[Config::kTileN / 2];
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i)
      ptx::unpack_f16(d[i], sums[2 * i], sums[2 * i + 1]);
    use(sums);
  } else {
    use(d);
  }
}

// Adds a finished chain in d to the earlier ones in `kept`. After the last chain, d has the total.
template <class Config>
__device__ __forceinline__ void gemm_keep(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators],
    typename Config::Sum (&kept)[Config::kRowBlocks][Config::kAccumulators], i32 chain,
    i32 chains) {
#pragma unroll
  for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i) {
      if (chain > 0) d[row_block][i] += kept[row_block][i];
      if (chain + 1 < chains) kept[row_block][i] = d[row_block][i];
    }
}

// Ends a chain with half the registers of gemm_keep: moves the upper 16 bits of each accumulator to
// `parked`. The remainder stays in d as the start value of the next chain. It is so small that the
// next chain's sums lose no more to truncation than if the chain had started at 0. The split is
// exact; an infinity leaves no remainder. After the last chain, d has the total.
template <class Config>
__device__ __forceinline__ void gemm_park(
    float (&d)[Config::kRowBlocks][Config::kAccumulators],
    u32 (&parked)[Config::kRowBlocks][Config::kAccumulators / 2], i32 chain, i32 chains) {
  const auto upper = [](u32 bits) { return __uint_as_float(bits & 0xffff0000u); };
#pragma unroll
  for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; i += 2) {
      u32& both = parked[row_block][i / 2];
      if (chain > 0) {
        d[row_block][i] += __uint_as_float(both << 16);
        d[row_block][i + 1] += upper(both);
      }
      if (chain + 1 < chains) {
        both = ptx::upper_halves(d[row_block][i], d[row_block][i + 1]);
        const float of_low = __uint_as_float(both << 16), of_high = upper(both);
        d[row_block][i] = d[row_block][i] == of_low ? 0.0f : d[row_block][i] - of_low;
        d[row_block][i + 1] = d[row_block][i + 1] == of_high ? 0.0f : d[row_block][i + 1] - of_high;
      }
    }
}

// The range of k of a warpgroup's chain. If two cooperative warpgroups park accumulators, group 1
// does so two k blocks after group 0, so that one of them always feeds the tensor cores.
template <class Config>
__device__ __forceinline__ GemmSpan gemm_chain_span_of_group(GemmSpan span, i32 chain, i32 chains,
                                                             u32 group) {
  GemmSpan own = gemm_chain_span<Config>(span, chain, chains);
  if (Config::kParksChains && !Config::kPingpong && group == 1) {
    if (chain > 0) own.begin += 2 * Config::kTileK;
    if (chain + 1 < chains) own.end += 2 * Config::kTileK;
  }
  return own;
}

}  // namespace tw
