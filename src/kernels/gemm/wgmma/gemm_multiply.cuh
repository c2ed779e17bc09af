// SPDX-License-Identifier: Apache-2.0
#pragma once
// The main loop of the consumer warpgroups: wgmma products of a tile's k blocks, and the addition
// of several accumulation chains in registers.

#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/ptx/wgmma.cuh"

namespace tw {

// Releases the stage to every CTA that loads into it: this CTA, and the CTAs of its row and column
// of the cluster, which multicast to it. One warp arrives for its warpgroup, since wgmma completes
// for all warps of a warpgroup at once.
//
// With split-K, a hardware cluster consists of several sets of kCluster CTAs, one set for each part
// of k. Only CTAs of the same set multicast to each other. `hardware_rank` is the CTA's rank in the
// hardware cluster, and `rank` its rank in its set, so the set's first CTA has the hardware rank
// hardware_rank - rank. If the CTAs of a set form a single row or column, the stage is released to
// all of them, and of the two ranks only this difference matters. Without split-K it is 0. Both
// ranks may then be set to 0, which saves reading a special register.
template <class Config>
__device__ __forceinline__ void gemm_release(const GemmPipeline<Config>& pipeline, i32 stage) {
  if constexpr (Config::kAnyCluster) {
    if (pipeline.released_base != 0)
      ptx::mbarrier_arrive_remote(pipeline.released_base + pipeline.empty_barrier(stage) -
                                  pipeline.base);
    return;
  }
  if (threadIdx.x / 32 % 4 != 0) return;
  const u32 lane = ptx::lane_id();
  if (Config::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(pipeline.empty_barrier(stage));
  } else if (lane < Config::kCluster) {
    constexpr bool kSingleLine = Config::kClusterM == 1 || Config::kClusterN == 1;
    const u32 hardware_rank = kSingleLine && !Config::kSplit ? 0 : ptx::cluster_rank();
    const u32 rank = hardware_rank % Config::kCluster;
    if (kSingleLine || lane % Config::kClusterM == rank % Config::kClusterM ||
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

// Multiplies the k blocks of `span`. The products are added to d if `accumulate` is 1, and
// overwrite d if it is 0. If `tile` is not null and the span begins at 0, *tile is set to the
// tile's position. A stage is released when the products of the next stage have been issued and its
// own are complete. The caller waits for the last products and releases the last stage.
// during_products() is called while products run: once for each k block except the first one, or
// once if there is only one. `width_index` is an index into kGemmWidths; only kernels with
// kAnyWidth use it.
template <class Config, class DuringProducts>
__device__ __forceinline__ void gemm_multiply(
    typename Config::Sum (&d)[Config::kRowBlocks][Config::kAccumulators], GemmSpan span,
    GemmPipeline<Config>& pipeline, u32 first_row_block, u32 accumulate, GemmTilePosition* tile,
    DuringProducts during_products, u32 width_index = 0) {
  // Bytes in shared memory from one step of 16 elements along k to the next.
  constexpr u32 kStepA = Config::kColumnA ? 16 * 128 : 32;
  constexpr u32 kStepB = Config::kRowB ? 16 * 128 : 32;
  constexpr u32 kSteps = Config::kTileK / 16;
  // From stage to stage only the address in a descriptor changes, and an addition updates it.
  // Computing it from the stage would delay the products after each barrier, which small tiles
  // cannot hide. Addresses in descriptors count units of 16 bytes. A row block takes 64 * 128 bytes
  // of a stage.
  const u32 stage_step = pipeline.step() / 16;
  const u64 descriptor = ptx::wgmma_descriptor(pipeline.base, 64 * 128, 1024);
  const u64 upper = descriptor >> 32 << 32;
  const u32 first_address = static_cast<u32>(descriptor) + first_row_block * (64 * 128 / 16);
  const u32 a_to_b = Config::kShared.a_bytes / 16 - first_row_block * (64 * 128 / 16);
  u32 address = first_address + static_cast<u32>(pipeline.stage) * stage_step;
  bool arrived = false;
  // Issues the products of one k block. `is_first_block` is a GemmConstant if kPeelsFirstBlock,
  // else a bool.
  const auto issue_block = [&](auto is_first_block) {
    if (!arrived) ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
    pipeline.fence_copied();
    if (is_first_block && tile != nullptr && span.begin == 0)
      *tile = gemm_published_tile<Config>(pipeline);
    const u64 a = upper | address, b = upper | (address + a_to_b);
    pipeline.advance();
    address = pipeline.stage == 0 ? first_address : address + stage_step;
    if constexpr (Config::kNarrow && !Config::kAnyWidth) {
      ptx::wgmma_block(d[0], typename Config::In::A{}, typename Config::In::B{}, a, b,
                       is_first_block ? accumulate : 1);
      arrived = ptx::mbarrier_test_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
    } else if constexpr (Config::kNarrow) {
      ptx::wgmma_any_width(d[0], typename Config::In::A{}, typename Config::In::B{}, a, b,
                           is_first_block ? accumulate : 1, width_index);
    } else if constexpr (Config::kAnyWidth) {
      ptx::wgmma_any_width<Config::kColumnA, Config::kRowB, kStepA / 16, kStepB / 16>(
          d[0], typename Config::In{}, a, b, is_first_block ? accumulate : 1, width_index);
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
    issue_block(GemmConstant<true>{});
    k += Config::kTileK;
    if (k >= span.end) during_products();
  }
  for (; k < span.end; k += Config::kTileK) {
    const i32 previous = stage;
    stage = pipeline.stage;
    if constexpr (Config::kPeelsFirstBlock)
      issue_block(GemmConstant<false>{});
    else
      issue_block(k == span.begin);
    const bool has_previous = Config::kPeelsFirstBlock || previous >= 0;
    if (has_previous || k + Config::kTileK >= span.end) during_products();
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

// Tells the compiler that all accumulators have values, without an instruction. The first product
// overwrites them. Clearing them would take one instruction for every two accumulators.
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
// fragment. f32 accumulators are passed by reference, since a copy would need twice the registers.
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

// Ends an accumulation chain whose sums are in d. It adds the sums of all earlier chains, which are
// in `kept`, to d, and keeps the result in `kept` for the next chain. After the last chain, d has
// the total.
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

// Ends an accumulation chain with half the extra registers of gemm_keep(). `parked` has the upper
// 16 bits of each accumulator from the end of the previous chain. They are added to d. Then the
// upper 16 bits of each sum are stored in `parked` for the end of the next chain. The exact
// remainder stays in d as the start value of the next chain. It is so small that the next chain's
// sums lose no more to truncation than if the chain had started at 0. After the last chain, d has
// the total.
template <class Config>
__device__ __forceinline__ void gemm_park(
    float (&d)[Config::kRowBlocks][Config::kAccumulators],
    u32 (&parked)[Config::kRowBlocks][Config::kAccumulators / 2], i32 chain, i32 chains) {
  const auto upper = [](u32 bits) { return __uint_as_float(bits & 0xffff0000u); };
  // The remainder of a finite sum is less than this. An infinite sum has the remainder NaN, which
  // fminf() replaces by this value. It is far from overflow, and the parked infinity is added to it
  // at the end.
  constexpr float kMostRemainder = 0x1p122f;
  // Two loops, each behind one branch. Branches per accumulator would cost more than the additions.
  if (chain > 0) {
#pragma unroll
    for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
#pragma unroll
      for (int i = 0; i < Config::kAccumulators; i += 2) {
        const u32 pair = parked[row_block][i / 2];
        d[row_block][i] += __uint_as_float(pair << 16);
        d[row_block][i + 1] += upper(pair);
      }
  }
  if (chain + 1 < chains) {
#pragma unroll
    for (i32 row_block = 0; row_block < Config::kRowBlocks; ++row_block)
#pragma unroll
      for (int i = 0; i < Config::kAccumulators; i += 2) {
        float &low = d[row_block][i], &high = d[row_block][i + 1];
        const u32 pair = ptx::upper_halves(low, high);
        low = fminf(low - __uint_as_float(pair << 16), kMostRemainder);
        high = fminf(high - upper(pair), kMostRemainder);
        parked[row_block][i / 2] = pair;
      }
  }
}

// Number of k blocks by which each chain of warpgroup 1, except the last one, ends after the same
// chain of warpgroup 0, if two cooperative warpgroups park accumulators. They then do not park at
// the same time: one of them multiplies the k blocks in the stages meanwhile. Parking takes about
// as long as four k blocks of a warpgroup.
inline constexpr i32 kGemmChainStagger = 4;
__device__ __forceinline__ i32 gemm_chain_stagger(i32 stages, u32 group) {
  return group == 1 ? min(stages, kGemmChainStagger) : 0;
}

// The range of k of a chain of consumer warpgroup `group`.
template <class Config>
__device__ __forceinline__ GemmSpan gemm_chain_span_of_group(GemmSpan span, i32 chain, i32 chains,
                                                             u32 group) {
  GemmSpan own = gemm_chain_span<Config>(span, chain, chains);
  if (Config::kParksChains && !Config::kPingpong) {
    const i32 later = gemm_chain_stagger(Config::kStages, group) * Config::kTileK;
    if (chain > 0) own.begin += later;
    if (chain + 1 < chains) own.end += later;
  }
  return own;
}

}  // namespace tw
