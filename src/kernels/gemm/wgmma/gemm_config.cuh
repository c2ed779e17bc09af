// SPDX-License-Identifier: Apache-2.0
#pragma once
// GemmConfig: all that a wgmma kernel knows at compile time. GemmPipeline: a position in the
// pipeline of stages through which the producer warp passes A and B to the consumer warpgroups.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/ptx/types.cuh"

namespace tw {

template <bool kHalf, class In>
struct GemmAccumulator {
  using Type = float;
};
template <class In>
struct GemmAccumulator<true, In> {
  using Type = u32;
};

/// A and B of a kernel for narrow types (8-bit types and tf32), which may differ.
template <class TypeA, class TypeB>
struct GemmPair {
  using A = TypeA;
  using B = TypeB;
  static constexpr u32 kBytes = A::kBytes;
  static_assert(A::kBytes == B::kBytes, "A and B must have elements of the same size");
};
template <>
struct GemmAccumulator<false, GemmPair<I8, I8>> {
  using Type = i32;
};

/// The D type of kernels that support every type of D: the arguments select it.
struct GemmAny {
  static constexpr u32 kBytes = kGemmAnyBytes;
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
  static constexpr bool kF16Accumulators = (kSchedule & kGemmF16Accumulators) != 0;
  static constexpr bool kSwapAB = (kSchedule & kGemmSwapAB) != 0;
  static constexpr bool kStreamK = (kSchedule & kGemmStreamK) != 0;
  static constexpr bool kAnyWidth = kStreamK;
  // The width of a stream-K slice (stream_slices.cuh) is a multiple of this, because kernels for
  // narrow types without swap-AB write D in pieces of 64 columns.
  static constexpr i32 kSliceStep =
      (kSchedule & (kGemmNarrow | kGemmSwapAB)) == kGemmNarrow ? 64 : 16;
  static constexpr bool kGrouped = (kSchedule & kGemmGrouped) != 0;
  // kFull: an epilogue kernel. "full" in other names marks code of these kernels, except in "full
  // barrier" (a stage has its bytes). kNarrow: A and B are narrow types. kPromotes: the
  // accumulators of each k block are added up outside the tensor cores, which doubles the registers
  // for accumulators.
  static constexpr bool kFull = (kSchedule & kGemmEpilogue) != 0;
  static constexpr bool kNarrow = (kSchedule & kGemmNarrow) != 0;
  static constexpr bool kPromotes = kNarrow && (kSchedule & kGemmNoPromotion) == 0;
  // Whether the arguments may give a cluster that shares its loads (stream_cluster.cuh). Basic
  // stream-K kernels have code of their own for that (GemmAnyCluster). Epilogue kernels have the
  // same code with and without a cluster, since their epilogues are too long to compile twice.
  static constexpr bool kAnyCluster = kStreamK && kFull && !kNarrow && !kGrouped;
  static_assert(!kStreamK || kCluster == 1, "the entries of stream-K kernels have no cluster");
  // Whether an f32 D is the sum of several accumulation chains if k is long (gemm_basic.cuh), and
  // how the chains are added up. With split-K and stream-K, each part is a chain of its own.
  static constexpr bool kChains =
      Out::kBytes == 4 && !kSplit && !kStreamK && (kSchedule & kGemmEpilogue) == 0;
  static constexpr bool kKeepsChains = kChains && gemm_keeps_chains(kM, kN, kSchedule);
  static constexpr bool kParksChains = kChains && gemm_parks_chains(kM, kN, kSchedule);
  static constexpr bool kAlternatesChains = kChains && kPingpong;
  // Basic stream-K kernels have registers to park accumulators (gemm_park). A bf16 D rarely has
  // more than one chain (gemm_required_chains), so its kernels add chains in the workspace.
  static constexpr bool kStreamParksChains =
      kStreamK && !kFull && !kNarrow && !kGrouped && !__is_same(Out, Bf16);
  // Whether the producer prefetches D into the L2 if the TMA adds to D. A ping-pong producer with
  // 192 columns lacks the registers for it.
  static constexpr bool kPrefetchesD = kChains && !(kPingpong && kN >= 192);
  // Whether idle threads prefetch the first weights into the L2 (gemm_prefetch_weights): in kernels
  // for few tokens whose weights are contiguous along k.
  static constexpr bool kPrefetchesWeights =
      kAlongM * kAlongN == 1 && (kM == 64 || kN <= 64) && (kSwapAB ? kColumnA == 0 : kRowB == 0);
  // Whether a tile's first k block has its own code, so that the main loop need not test for it.
  // Ping-pong kernels with chains and 192 columns lack the registers for it. In stream-K kernels
  // the code for all widths would become too large.
  static constexpr bool kPeelsFirstBlock = !(kAlternatesChains && kN >= 192) && !kAnyWidth;
  static constexpr u32 kConsumers = gemm_consumers(kM);  // warpgroups
  static constexpr u32 kThreads = 128 * (1 + kConsumers);
  // The accumulators of a thread for one row block: floats, integers, or pairs of f16.
  using Sum = typename GemmAccumulator<kF16Accumulators, In>::Type;
  static constexpr bool kIntegerSums = __is_same(Sum, i32);
  static constexpr int kAccumulators = kF16Accumulators ? kN / 4 : kN / 2;
  // A row block is the 64 rows that one wgmma multiplies. kRowBlocks: those that a warpgroup
  // multiplies at once. kReaders: warpgroups that read a stage.
  static constexpr i32 kRowBlocks = kM / 64 / (kPingpong ? 1 : static_cast<int>(kConsumers));
  static constexpr u32 kReaders = kPingpong ? 1 : kConsumers;
  // Testing a full barrier takes 60 cycles even if the bytes have landed. A single consumer
  // warpgroup would leave the tensor cores idle meanwhile. For small tiles it therefore tests the
  // next stage's barrier midway through a stage's products.
  static constexpr bool kTestsNextStage = kConsumers == 1 && kN <= 96;
  // Threads, each in a warp of its own, that alternate in loading k blocks. Some small tiles
  // multiply a stage as fast as one thread issues its loads, and need two.
  static constexpr u32 kLoaders = kTestsNextStage && kN >= 64 && !kSwapAB ? 2 : 1;
  static constexpr GemmTile kTile = {
      kM,         kN,         kK, kOrderA* kGemmColumnA + kOrderB* kGemmColumnB + kSchedule,
      In::kBytes, Out::kBytes};
  static constexpr GemmShared kShared = gemm_shared(kTile);
  static constexpr i32 kStages = static_cast<i32>(kShared.stages);
  // Kernels for few tokens limit how far they load ahead, to kAhead k blocks: see gemm_load_ahead.
  static constexpr i32 kAhead = kSplit ? 10 : 11;
  static constexpr bool kLimitsLoadAhead = kM == 64 && kAlongM * kAlongN == 1 && kStages > kAhead;
  static constexpr GemmSlab kSlab = gemm_slab(kTile);
  // Whether a split-K kernel has memory beside its stages for the accumulators of other CTAs.
  static constexpr bool kHasReceiveBuffer = kShared.receive_bytes > 0;
  static constexpr u32 kStageColumnsB = gemm_b_stage_columns(kTile);
  // Whether gemm_consume_all_tma can add up several chains, for which it needs registers.
  static constexpr bool kAllTmaAddsChains =
      kChains && (!kAlternatesChains || kParksChains) &&
      !(kKeepsChains && kConsumers == 2 && kRowBlocks * kAccumulators > 64);
  static_assert(kK * In::kBytes == 128, "a k block is one swizzle span");
  static_assert(kN % 8 == 0 && kN <= 256, "wgmma takes n up to 256 in steps of 8");
  static_assert(kShared.total <= kGemmSharedLimit, "the kernel exceeds the shared memory of a CTA");
  // setmaxnreg values: registers of a producer thread, and of a consumer thread.
  static constexpr u32 kProducerRegisters = kConsumers == 1                     ? 56
                                            : kAlternatesChains && kCluster > 1 ? 40
                                                                                : 24;
  static constexpr u32 kConsumerRegisters = kConsumers == 1                     ? 224
                                            : kAlternatesChains && kCluster > 1 ? 232
                                                                                : 240;
  // CTAs that receive this CTA's multicast loads: those in its row and column of the cluster.
  static constexpr u32 kMulticastCtas = kClusterM + kClusterN - 1;
  static_assert(kCluster <= 8, "a portable cluster has at most 8 CTAs");
  static_assert(
      !kAnyWidth || (kRowBlocks == 1 && kN == (kPromotes ? kSwapAB ? 160 : 192 : 256)),
      "wgmma_any_width takes one row block of 256 columns, or as many as promotion allows");
  static_assert(!kColumnA || kM % 64 == 0, "a column-major A is loaded in boxes of 64 along m");
  static_assert(kRowB || kN / kAlongM % 8 == 0,
                "a CTA's share of B must be whole swizzle atoms of 8 columns");
  static_assert(!kPingpong || kConsumers == 2, "ping-pong needs two consumer warpgroups");
  static_assert(kLoaders == 1 || kStages >= 3, "two loaders need at least three stages");
};

/// The configuration of a basic stream-K kernel for launches with multicast, whose arguments give
/// the shape of the cluster (GemmStreamArgs). The same kernel has code without multicast too, which
/// is faster for CTAs that share no loads.
template <class Single>
struct GemmAnyCluster : Single {
  static constexpr bool kAnyCluster = true;
};

/// Where the number of stages, and the bytes from one to the next, come from: constants (config),
/// launch arguments (arguments: stream-K kernels, with tiles of any width), or values that the
/// kernel computes (device: grouped kernels).
enum class GemmPipelineSource { config, arguments, device };
template <class Config, GemmPipelineSource kSource = Config::kGrouped ? GemmPipelineSource::device
                                                     : Config::kAnyWidth
                                                         ? GemmPipelineSource::arguments
                                                         : GemmPipelineSource::config>
struct GemmPipelineShape {
  static __device__ constexpr i32 stages() { return Config::kStages; }
  static __device__ constexpr u32 step() {
    return Config::kShared.a_bytes + Config::kShared.b_bytes;
  }
};
template <class Config>
struct GemmPipelineShape<Config, GemmPipelineSource::arguments> {
  const GemmStreamArgs* args = nullptr;
  // With kAnyCluster: the shared address of stage 0 in the CTA to which this thread releases
  // stages, or 0 if there is none. Without multicast that is this CTA.
  u32 released_base = 0;
  __device__ i32 stages() const { return args->stages; }
  __device__ u32 step() const { return args->stage_step; }
};
template <class Config>
struct GemmPipelineShape<Config, GemmPipelineSource::device> {
  i32 own_stages = 1;
  u32 own_step = 0;  // bytes; bit 0: threads, not the TMA, copy a part of each stage
  __device__ __forceinline__ void set(u32 bytes, bool copied) {
    own_step = bytes | (copied ? 1 : 0);
    own_stages = static_cast<i32>(min(Config::kShared.d_offset / bytes, kGemmMaxStages));
  }
  __device__ bool copied() const { return (own_step & 1) != 0; }
  __device__ i32 stages() const { return own_stages; }
  __device__ u32 step() const { return own_step & ~1u; }
};

/// A position in the pipeline: the current stage and the parity of its full barrier.
template <class Config>
struct GemmPipeline : GemmPipelineShape<Config> {
  using GemmPipelineShape<Config>::stages;
  using GemmPipelineShape<Config>::step;
  static constexpr i32 kBarriers =
      Config::kAnyWidth ? static_cast<i32>(kGemmMaxStages) : Config::kStages;
  u32 base;  // shared address of stage 0
  i32 stage = 0;
  u32 phase = 0;

  __device__ explicit GemmPipeline(u32 shared) : base(shared) {}
  __device__ u32 a() const { return base + static_cast<u32>(stage) * step(); }
  __device__ u32 b() const { return a() + Config::kShared.a_bytes; }
  __device__ u32 full_barrier(i32 index) const {
    return base + Config::kShared.barriers + 8u * static_cast<u32>(index);
  }
  __device__ u32 empty_barrier(i32 index) const { return full_barrier(index + kBarriers); }
  /// Where the position of a tile is stored (gemm_publish_tile). Each stage has such a place, and a
  /// tile uses the one of its first stage.
  __device__ u32 tile_position(i32 index) const { return empty_barrier(index + kBarriers); }
  /// Shared address of eight bytes that stream-K kernels use while they add up the parts of a tile:
  /// as a barrier if CTAs are joined, otherwise as a flag. These kernels store no tile positions,
  /// so the bytes are those of the first position.
  __device__ u32 reduction_word() const { return tile_position(0); }
  /// Barrier that counts the bytes of accumulators that a split-K CTA receives.
  __device__ u32 partials_barrier() const { return tile_position(Config::kStages); }
  /// Consumers call this after a stage's full barrier. If threads copied a part of the stage, wgmma
  /// may read it only after a proxy fence.
  __device__ __forceinline__ void fence_copied() const {
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
  /// Advances to this loader's next stage when `kBlocks` loaders alternate.
  template <u32 kBlocks>
  __device__ void advance_by() {
    stage += static_cast<i32>(kBlocks);
    if (stage >= Config::kStages) {
      stage -= Config::kStages;
      phase ^= 1;
    }
  }
  /// Skips the stages of `blocks` k blocks that another warpgroup or loader handles.
  __device__ void skip(i32 blocks) {
    const i32 to = stage + blocks;
    phase ^= static_cast<u32>(to / Config::kStages) & 1;
    stage = to % Config::kStages;
  }
};

}  // namespace tw
