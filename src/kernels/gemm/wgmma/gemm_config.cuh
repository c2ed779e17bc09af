// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a wgmma row is compiled for, and its ring of stages.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/ptx/types.cuh"

namespace tw {

template <bool kHalf, class In>
struct GemmSum {
  using Type = float;
};
template <class In>
struct GemmSum<true, In> {
  using Type = u32;
};

/// The types of A and B where they are narrow.
template <class TypeA, class TypeB>
struct GemmPair {
  using A = TypeA;
  using B = TypeB;
  static constexpr u32 kBytes = A::kBytes;
  static_assert(A::kBytes == B::kBytes, "a k block is as many elements of both");
};
template <>
struct GemmSum<false, GemmPair<I8, I8>> {
  using Type = i32;
};

/// Any type of D: a run says which.
struct GemmAny {
  static constexpr u32 kBytes = kGemmAnyBytes;
};

/// Whether sums are integers.
template <class Sum>
struct GemmExact {
  static constexpr bool kValue = false;
};
template <>
struct GemmExact<i32> {
  static constexpr bool kValue = true;
};

template <class InType, class OutType, int kOrderA, int kOrderB, int kM, int kN, int kK,
          int kAlongM, int kAlongN, u32 kSchedule>
struct GemmConfig {
  using In = InType;
  using Out = OutType;
  static constexpr int kColumnA = kOrderA;   // 1: contiguous along m
  static constexpr int kRowB = 1 - kOrderB;  // 1: contiguous along n
  static constexpr i32 kTileM = kM, kTileN = kN, kTileK = kK;
  static constexpr u32 kClusterM = kAlongM, kClusterN = kAlongN;
  static constexpr u32 kCluster = kClusterM * kClusterN;
  static constexpr bool kPingpong = (kSchedule & kGemmPingpong) != 0;
  static constexpr bool kSplit = (kSchedule & kGemmSplit) != 0;
  static constexpr bool kHalfSum = (kSchedule & kGemmHalfSum) != 0;
  static constexpr bool kTransposed = (kSchedule & kGemmTransposed) != 0;
  // Long sums are made of several chains: added up in registers, or in memory, where of ping-pong
  // rows both warpgroups take turns chain by chain. A split's parts are such chains by themselves.
  static constexpr bool kStreamK = (kSchedule & kGemmStreamK) != 0;
  static constexpr bool kAnyWidth = kStreamK;
  static constexpr bool kGrouped = (kSchedule & kGemmGrouped) != 0;
  static constexpr bool kFull = (kSchedule & kGemmFull) != 0;
  // Of narrow types; and whether the sums of each k block are added up outside of the tensor cores,
  // which takes as many registers again.
  static constexpr bool kScaled = (kSchedule & kGemmScaled) != 0;
  static constexpr bool kPromotes = kScaled && (kSchedule & kGemmFast) == 0;
  static constexpr bool kChains =
      Out::kBytes == 4 && !kSplit && !kStreamK && (kSchedule & kGemmFull) == 0;
  static constexpr bool kKeeps = kChains && gemm_keeps_chains(kM, kN, kSchedule);
  static constexpr bool kParks = kChains && gemm_parks_chains(kM, kN, kSchedule);
  static constexpr bool kInTurn = kChains && kPingpong;
  // Whether D that is added to is asked into the L2; producers of 192 columns in turn have no
  // register for it.
  static constexpr bool kAsksForD = kChains && !(kPingpong && kN >= 192);
  // Rows for few tokens, and weights contiguous along k, see gemm_ask_for_weights.
  static constexpr bool kAsks = kAlongM * kAlongN == 1 && (kM == 64 || kN <= 64) &&
                                (kTransposed ? kColumnA == 0 : kRowB == 0);
  // Whether a tile's first k block has code of its own, without which the others have to ask
  // whether they are first: where 192 columns are multiplied in turn, no register is left for it,
  // and the widths of a stream-K kernel are a lot of code.
  static constexpr bool kFirstApart = !(kInTurn && kN >= 192) && !kAnyWidth;
  static constexpr u32 kConsumers = gemm_consumers(kM);  // warpgroups
  static constexpr u32 kThreads = 128 * (1 + kConsumers);
  // A thread's sums of one piece: floats, or pairs of f16.
  using Sum = typename GemmSum<kHalfSum, In>::Type;
  static constexpr bool kExact = GemmExact<Sum>::kValue;
  static constexpr int kSums = kHalfSum ? kN / 4 : kN / 2;
  // Pieces of 64 rows that a warpgroup multiplies at once, and warpgroups that read a stage.
  static constexpr i32 kPieces = kM / 64 / (kPingpong ? 1 : static_cast<int>(kConsumers));
  static constexpr u32 kReaders = kPingpong ? 1 : kConsumers;
  // One warpgroup by itself has nobody who multiplies while it asks for a barrier, which takes 60
  // clocks where the bytes have landed: of small tiles it asks for the next stage amid a stage's
  // products.
  static constexpr bool kLooksAhead = kConsumers == 1 && kN <= 96;
  // Threads that load in turn, block by block, each in a warp of its own: one of those small tiles
  // multiplies a stage while a thread sends one.
  static constexpr u32 kLoaders = kLooksAhead && kN >= 64 && !kTransposed ? 2 : 1;
  static constexpr GemmTile kTile = {
      kM,         kN,         kK, kOrderA* kGemmColumnA + kOrderB* kGemmColumnB + kSchedule,
      In::kBytes, Out::kBytes};
  static constexpr GemmShared kShared = gemm_shared(kTile);
  static constexpr i32 kStages = static_cast<i32>(kShared.stages);
  // Rows for few tokens whose ring may be more than is good, and as many k blocks as then are: see
  // gemm_ahead.
  static constexpr i32 kAhead = kSplit ? 10 : 11;
  static constexpr bool kHoldsBack = kM == 64 && kAlongM * kAlongN == 1 && kStages > kAhead;
  static constexpr GemmSlab kSlab = gemm_slab(kTile);
  // A split that has room beside its ring for the parts of its sums.
  static constexpr bool kRoom = kShared.room > 0;
  static constexpr u32 kLinesB = gemm_b_lines(kTile);
  // Whether the loop of stored tiles makes chains: it needs registers for them.
  static constexpr bool kStoresChains =
      kChains && (!kInTurn || kParks) && !(kKeeps && kConsumers == 2 && kPieces * kSums > 64);
  static_assert(kK * In::kBytes == 128, "a k block is one swizzle span");
  static_assert(kN % 8 == 0 && kN <= 256, "what wgmma can do");
  static_assert(kShared.total <= kGemmSharedLimit, "more shared memory than a block can have");
  // Of a thread, in the producer's warpgroup and in those that multiply.
  static constexpr u32 kFewRegisters = kConsumers == 1 ? 56 : kInTurn && kCluster > 1 ? 40 : 24;
  static constexpr u32 kManyRegisters = kConsumers == 1 ? 224 : kInTurn && kCluster > 1 ? 232 : 240;
  // Blocks that a block's loads reach: those beside it along m and n.
  static constexpr u32 kReached = kClusterM + kClusterN - 1;
  static_assert(kCluster <= 8, "a portable cluster");
  static_assert(!kAnyWidth || (kPieces == 1 && kN == (kPromotes ? 192 : 256)),
                "what wgmma_any_width is for");
  static_assert(!kColumnA || kM % 64 == 0, "boxes of 64 along m");
  static_assert(kRowB || kN / kAlongM % 8 == 0, "a share of B is whole swizzle atoms");
  static_assert(!kPingpong || kConsumers == 2, "it takes two to take turns");
  static_assert(kLoaders == 1 || kStages >= 3, "each loader waits for what it sent before");
};

/// Stages of a ring, and bytes from one to the next: the run's where a kernel takes any width, and
/// what a grouped kernel finds on the device.
enum class GemmRingOf { config, run, device };
template <class Config, GemmRingOf kOf = Config::kGrouped    ? GemmRingOf::device
                                         : Config::kAnyWidth ? GemmRingOf::run
                                                             : GemmRingOf::config>
struct GemmRingSize {
  static __device__ constexpr i32 stages() { return Config::kStages; }
  static __device__ constexpr u32 step() {
    return Config::kShared.a_bytes + Config::kShared.b_bytes;
  }
};
template <class Config>
struct GemmRingSize<Config, GemmRingOf::run> {
  const GemmStreamArgs* run = nullptr;
  __device__ i32 stages() const { return run->stages; }
  __device__ u32 step() const { return run->stage_step; }
};
template <class Config>
struct GemmRingSize<Config, GemmRingOf::device> {
  i32 own_stages = 1;
  u32 own_step = 0;  // and whether threads copy a part of a stage, in its lowest bit
  __device__ __forceinline__ void set(u32 bytes, bool copied) {
    own_step = bytes | (copied ? 1 : 0);
    own_stages = static_cast<i32>(min(Config::kShared.d_offset / bytes, kGemmMaxStages));
  }
  __device__ bool copied() const { return (own_step & 1) != 0; }
  __device__ i32 stages() const { return own_stages; }
  __device__ u32 step() const { return own_step & ~1u; }
};

/// A place in the ring: the stage that is next, and the parity of its full barrier.
template <class Config>
struct GemmRing : GemmRingSize<Config> {
  using GemmRingSize<Config>::stages;
  using GemmRingSize<Config>::step;
  static constexpr i32 kBarriers =
      Config::kAnyWidth ? static_cast<i32>(kGemmMaxStages) : Config::kStages;
  u32 base;  // shared address of stage 0
  i32 stage = 0;
  u32 phase = 0;

  __device__ explicit GemmRing(u32 shared) : base(shared) {}
  __device__ u32 a() const { return base + static_cast<u32>(stage) * step(); }
  __device__ u32 b() const { return a() + Config::kShared.a_bytes; }
  __device__ u32 full_barrier(i32 of) const {
    return base + Config::kShared.barriers + 8u * static_cast<u32>(of);
  }
  __device__ u32 empty_barrier(i32 of) const { return full_barrier(of + kBarriers); }
  __device__ u32 tile(i32 of) const { return empty_barrier(of + kBarriers); }
  /// Where a split's parts are counted.
  __device__ u32 parts_barrier() const { return tile(Config::kStages); }
  /// By who multiplies, behind a stage's full barrier.
  __device__ __forceinline__ void landed() const {
    if constexpr (Config::kGrouped) {
      if (this->copied()) ptx::fence_async_shared();
    }
  }
  __device__ void advance() {
    if (++stage == stages()) {
      stage = 0;
      phase ^= 1;
    }
  }
  /// To the next of every `kBlocks` stages.
  template <u32 kBlocks>
  __device__ void advance_by() {
    stage += static_cast<i32>(kBlocks);
    if (stage >= Config::kStages) {
      stage -= Config::kStages;
      phase ^= 1;
    }
  }
  /// Past `blocks` stages that somebody else reads.
  __device__ void skip(i32 blocks) {
    const i32 to = stage + blocks;
    phase ^= static_cast<u32>(to / Config::kStages) & 1;
    stage = to % Config::kStages;
  }
};

}  // namespace tw
