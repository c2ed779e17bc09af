// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a wgmma row is compiled for, and its ring of stages.

#include "kernels/gemm/gemm.h"
#include "kernels/parts/types.cuh"

namespace tw {

template <class InType, class OutType, int kOrderA, int kOrderB, int kM, int kN, int kK, int kStage,
          int kAlongM, int kAlongN, u32 kSchedule>
struct GemmConfig {
  using In = InType;
  using Out = OutType;
  static constexpr int kColumnA = kOrderA;   // 1: contiguous along m
  static constexpr int kRowB = 1 - kOrderB;  // 1: contiguous along n
  static constexpr i32 kTileM = kM, kTileN = kN, kTileK = kK, kStages = kStage;
  static constexpr u32 kClusterM = kAlongM, kClusterN = kAlongN;
  static constexpr u32 kCluster = kClusterM * kClusterN;
  static constexpr bool kPingpong = kSchedule == kGemmPingpong;
  static constexpr bool kSplit = kSchedule == kGemmSplit;
  static constexpr u32 kConsumers = gemm_consumers(kM);  // warpgroups
  static constexpr u32 kThreads = 128 * (1 + kConsumers);
  // Pieces of 64 rows that a warpgroup multiplies at once, and warps that read a stage.
  static constexpr i32 kPieces = kM / 64 / (kPingpong ? 1 : static_cast<int>(kConsumers));
  static constexpr u32 kReaders = 4 * (kPingpong ? 1 : kConsumers);
  static constexpr GemmShared kShared = gemm_shared(kM, kN, kK, kStage, In::kBytes);
  static_assert(kK * In::kBytes == 128, "a k block is one swizzle span");
  static_assert(kShared.total <= 232448, "more shared memory than a block can have");
  static_assert(kClusterM <= 2 && kClusterN <= 2, "gemm_produce's masks");
  static_assert(!kSplit || kCluster == 1, "a cluster shares k, or A and B");
  static_assert(!kSplit || (kN + 8) * kM * 4 <= static_cast<int>(kShared.d_offset),
                "the partial tile takes the place of the ring");
  static_assert(!kPingpong || kConsumers == 2, "it takes two to take turns");
};

/// A place in the ring: the stage that is next, and the parity of its full barrier.
template <class Config>
struct GemmRing {
  u32 base;  // shared address of stage 0
  i32 stage = 0;
  u32 phase = 0;

  __device__ explicit GemmRing(u32 shared) : base(shared) {}
  __device__ u32 a() const {
    return base + static_cast<u32>(stage) * (Config::kShared.a_bytes + Config::kShared.b_bytes);
  }
  __device__ u32 b() const { return a() + Config::kShared.a_bytes; }
  __device__ u32 full_barrier(i32 of) const {
    return base + Config::kShared.barriers + 8u * static_cast<u32>(of);
  }
  __device__ u32 empty_barrier(i32 of) const { return full_barrier(of + Config::kStages); }
  __device__ void advance() {
    if (++stage == Config::kStages) {
      stage = 0;
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
