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
// k: `own` is the rank in the hardware cluster, `rank` that in the group, and own - rank is the
// group's first CTA. If the group is a single row or column, the stage is released to all its CTAs.
// Without split-K that group is the whole hardware cluster, so its first CTA is 0.
template <class Config>
__device__ __forceinline__ void gemm_release(const GemmPipeline<Config>& ring, i32 stage) {
  if (threadIdx.x / 32 % 4 != 0) return;
  const u32 lane = ptx::lane_id();
  if (Config::kCluster == 1) {
    if (lane == 0) ptx::mbarrier_arrive(ring.empty_barrier(stage));
  } else if (lane < Config::kCluster) {
    constexpr bool kInLine = Config::kClusterM == 1 || Config::kClusterN == 1;
    const u32 own = kInLine && !Config::kSplit ? 0 : ptx::cluster_rank();
    const u32 rank = own % Config::kCluster;
    if (kInLine || lane % Config::kClusterM == rank % Config::kClusterM ||
        lane / Config::kClusterM == rank / Config::kClusterM)
      ptx::mbarrier_arrive_remote(
          ptx::cluster_address(ring.empty_barrier(stage), own - rank + lane));
  }
}

// A boolean constant that a generic lambda can take as an argument.
template <bool kValue>
struct GemmConstant {
  __device__ constexpr operator bool() const { return kValue; }
};

// Multiplies the k blocks of `span` into d: `accumulate` 0 overwrites d, 1 adds to it. `tile`, if
// not null, receives the tile's position if the span begins at 0. A stage is released after the
// next one's products are issued; the caller waits for the last products and releases the last
// stage. meanwhile() is called while products run: once for each k block but the first, or once if
// there is only one. `width` is an index into kGemmWidths; only kernels with kAnyWidth or kScaled
// use it.
template <class Config, class Meanwhile>
__device__ __forceinline__ void gemm_multiply(
    typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators], GemmSpan span,
    GemmPipeline<Config>& ring, u32 first_piece, u32 accumulate, GemmTileAt* tile,
    Meanwhile meanwhile, u32 width = 0) {
  constexpr u32 kStepA = Config::kColumnA ? 16 * 128 : 32;  // 16 elements along k, in bytes
  constexpr u32 kStepB = Config::kRowB ? 16 * 128 : 32;
  constexpr u32 kSteps = Config::kTileK / 16;
  // The part of a descriptor that changes from stage to stage is updated incrementally. Recomputing
  // it would delay the products after each barrier, which small tiles cannot hide. Addresses in
  // descriptors are in units of 16 bytes. A piece is the 64 rows of A that one wgmma multiplies; a
  // stage holds 128 bytes of each.
  const u32 stage_step = ring.step() / 16;
  const u64 of_ring = ptx::wgmma_descriptor(ring.base, 64 * 128, 1024);
  const u64 upper = of_ring >> 32 << 32;
  const u32 first = static_cast<u32>(of_ring) + first_piece * (64 * 128 / 16);
  const u32 to_b = Config::kShared.a_bytes / 16 - first_piece * (64 * 128 / 16);
  u32 at = first + static_cast<u32>(ring.stage) * stage_step;
  bool landed = false;
  // Issues the products of one k block. `first_one` is a GemmConstant if kPeelsFirstBlock, else a
  // bool.
  const auto send = [&](auto first_one) {
    if (!landed) ptx::mbarrier_wait(ring.full_barrier(ring.stage), ring.phase);
    ring.landed();
    if (first_one && tile != nullptr && span.begin == 0) *tile = gemm_published_tile<Config>(ring);
    const u64 a = upper | at, b = upper | (at + to_b);
    ring.advance();
    at = ring.stage == 0 ? first : at + stage_step;
    if constexpr (Config::kScaled) {
      ptx::wgmma_any_width(d[0], typename Config::In::A{}, typename Config::In::B{}, a, b,
                           first_one ? accumulate : 1, width);
    } else if constexpr (Config::kAnyWidth) {
      ptx::wgmma_any_width<Config::kColumnA, Config::kRowB, kStepA / 16, kStepB / 16>(
          d[0], typename Config::In{}, a, b, first_one ? accumulate : 1, width);
    } else {
      ptx::wgmma_fence();
#pragma unroll
      for (u32 step = 0; step < kSteps; ++step) {
#pragma unroll
        for (u32 piece = 0; piece < Config::kPieces; ++piece)
          ptx::wgmma<Config::kColumnA, Config::kRowB>(
              d[piece], typename Config::In{}, a + (piece * (64 * 128) + step * kStepA) / 16,
              b + step * kStepB / 16, first_one && step == 0 ? accumulate : 1);
        if (Config::kTestsNextStage && step == kSteps / 2 - 1)
          landed = ptx::mbarrier_test_wait(ring.full_barrier(ring.stage), ring.phase);
      }
      ptx::wgmma_commit();
    }
  };
  i32 k = span.begin;
  i32 stage = -1;
  if constexpr (Config::kPeelsFirstBlock) {
    if (k >= span.end) return;
    stage = ring.stage;
    send(GemmConstant<true>{});
    k += Config::kTileK;
    if (k >= span.end) meanwhile();
  }
  for (; k < span.end; k += Config::kTileK) {
    const i32 previous = stage;
    stage = ring.stage;
    if constexpr (Config::kPeelsFirstBlock)
      send(GemmConstant<false>{});
    else
      send(k == span.begin);
    const bool second = Config::kPeelsFirstBlock || previous >= 0;
    if (second || k + Config::kTileK >= span.end) meanwhile();
    ptx::wgmma_wait<1>();
    if (second) gemm_release<Config>(ring, previous);
  }
}

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
    typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators]) {
  ptx::wgmma_wait<0>();
#pragma unroll
  for (auto& piece : d)
#pragma unroll
    for (auto& value : piece) gemm_pin(value);
}

template <class Config>
__device__ __forceinline__ void gemm_no_products(
    typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators]) {
#pragma unroll
  for (auto& piece : d)
#pragma unroll
    for (auto& value : piece) value = 0;
}

// As gemm_multiply from zeros, and d = 0 if the span is empty.
template <class Config>
__device__ __forceinline__ void gemm_accumulate(
    typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators], GemmSpan span,
    GemmPipeline<Config>& ring, u32 first_piece) {
  if (span.end <= span.begin) gemm_no_products<Config>(d);
  gemm_multiply<Config>(d, span, ring, first_piece, 0, nullptr, [] {});
}

// Calls use(sums) with the accumulators of one piece as floats, in the order of wgmma's fragment.
// f32 accumulators are passed by reference, since a copy would take as many registers again.
template <class Config, class Use>
__device__ __forceinline__ void gemm_with_floats(typename Config::Sum (&d)[Config::kAccumulators],
                                                 Use use) {
  if constexpr (Config::kHalfSum) {
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
    typename Config::Sum (&d)[Config::kPieces][Config::kAccumulators],
    typename Config::Sum (&kept)[Config::kPieces][Config::kAccumulators], i32 chain, i32 chains) {
#pragma unroll
  for (i32 piece = 0; piece < Config::kPieces; ++piece)
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i) {
      if (chain > 0) d[piece][i] += kept[piece][i];
      if (chain + 1 < chains) kept[piece][i] = d[piece][i];
    }
}

// Ends a chain with half the registers of gemm_keep: moves the upper 16 bits of each accumulator to
// `parked`. The remainder stays in d as the start value of the next chain. It is so small that the
// next chain's sums lose no more to truncation than if the chain had started at 0. The split is
// exact; an infinity leaves no remainder. After the last chain, d has the total.
template <class Config>
__device__ __forceinline__ void gemm_park(float (&d)[Config::kPieces][Config::kAccumulators],
                                          u32 (&parked)[Config::kPieces][Config::kAccumulators / 2],
                                          i32 chain, i32 chains) {
  const auto upper = [](u32 bits) { return __uint_as_float(bits & 0xffff0000u); };
#pragma unroll
  for (i32 piece = 0; piece < Config::kPieces; ++piece)
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; i += 2) {
      u32& both = parked[piece][i / 2];
      if (chain > 0) {
        d[piece][i] += __uint_as_float(both << 16);
        d[piece][i + 1] += upper(both);
      }
      if (chain + 1 < chains) {
        both = ptx::upper_halves(d[piece][i], d[piece][i + 1]);
        const float of_low = __uint_as_float(both << 16), of_high = upper(both);
        d[piece][i] = d[piece][i] == of_low ? 0.0f : d[piece][i] - of_low;
        d[piece][i + 1] = d[piece][i + 1] == of_high ? 0.0f : d[piece][i + 1] - of_high;
      }
    }
}

// The range of k of a warpgroup's chain. If two cooperative warpgroups park accumulators, group 1
// does so two k blocks after group 0, so that one of them always feeds the tensor cores.
template <class Config>
__device__ __forceinline__ GemmSpan gemm_chain_of(GemmSpan span, i32 chain, i32 chains, u32 group) {
  GemmSpan of = gemm_chain<Config>(span, chain, chains);
  if (Config::kParksChains && !Config::kPingpong && group == 1) {
    if (chain > 0) of.begin += 2 * Config::kTileK;
    if (chain + 1 < chains) of.end += 2 * Config::kTileK;
  }
  return of;
}

}  // namespace tw
