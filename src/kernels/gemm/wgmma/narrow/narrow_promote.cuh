// SPDX-License-Identifier: Apache-2.0
#pragma once
// Main loop of the promoting kernels. Tensor cores keep only 14 bits of an accumulation of 8-bit
// floats. A consumer warpgroup therefore adds the accumulators of each k block of 128 to f32
// registers, multiplied by the block's scales if scales change along k. While one warpgroup adds,
// the tensor cores multiply for the other one.
// "full" in names means an epilogue kernel.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

/// The scales of a k block's accumulators: none; one for each row and one for each column; one for
/// each column and one that all rows of a thread share; or one for each row and one that 64 columns
/// share.
enum class NarrowScaling { none, by_row, shared_row, shared_column };

/// The main loop of one tile. Source has what else differs between kernels: where a stage's scales
/// are (scales()), and what a consumer must do before it reads a stage (before_reading()).
///
/// The order below follows from profiles of an H100:
/// - Loads from shared memory wait behind wgmma instructions that wait for the tensor cores. Where
///   a k block has many scales, all are therefore loaded before its products are started.
/// - The next stage's barrier is tested while the products run.
template <class Config, class Source, NarrowScaling kScaling>
struct NarrowLoop {
  using In = typename Config::In;
  using Sums = float[Config::kAccumulators];
  static constexpr bool kScales = kScaling != NarrowScaling::none;
  const Source& source;
  GemmPipeline<Config>& pipeline;
  NarrowScaleAddresses scale_addresses;  // relative to the start of a stage's scales
  u32 first_a, a_to_b;  // low word of A's descriptor in stage 0, and its distance to B's

  __device__ __forceinline__ NarrowLoop(const Source& stages, GemmPipeline<Config>& of_tile,
                                        u32 group)
      : source(stages),
        pipeline(of_tile),
        scale_addresses(group * 256, Config::kTileM * 4),
        first_a(ptx::wgmma_descriptor_low(of_tile.base + group * (64 * 128), 64 * 128)),
        a_to_b((Config::kShared.a_bytes - group * (64 * 128)) / 16) {
    scale_addresses.rows = ptx::opaque(scale_addresses.rows);
    scale_addresses.columns = ptx::opaque(scale_addresses.columns);
  }

  /// The scales of a thread's rows and columns in a stage.
  template <int kFloats>
  struct Scales {
    // Rows and columns that share scales have so few that the next stage's are loaded while the
    // products run. `factor` has the products of this stage's.
    static constexpr bool kAhead = kScaling == NarrowScaling::shared_column;
    static constexpr int kColumnGroups = kAhead ? kFloats / 32 : kFloats / 8;
    float row[2], column[kColumnGroups][kAhead ? 1 : 4], factor[kAhead ? kColumnGroups : 1][2];
    // `from`: where the stage's scales begin.
    __device__ __forceinline__ void load(const NarrowScaleAddresses& scale_addresses, u32 from) {
      if constexpr (kScales) {
        const NarrowScaleAddresses addresses = scale_addresses.moved_by(from);
        addresses.load_rows(row);
#pragma unroll
        for (int group = 0; group < kColumnGroups; ++group) {
          if constexpr (kAhead)
            column[group][0] = addresses.load_first_column(group * 4);
          else
            addresses.load_columns(group, column[group]);
        }
      }
    }
    // With kAhead called after the products are started, else after they are finished. The pins
    // keep nvcc from multiplying scales before the products are started, which would delay them.
    __device__ __forceinline__ void combine() {
      if constexpr (kScales) {
#pragma unroll
        for (auto& group : column)
#pragma unroll
          for (float& value : group) {
            gemm_pin(value);
            if (kScaling == NarrowScaling::shared_row) value *= row[0];
          }
      }
      if constexpr (kAhead) {
#pragma unroll
        for (int group = 0; group < kColumnGroups; ++group)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            factor[group][half] = row[half] * column[group][0];
            gemm_pin(factor[group][half]);
          }
      }
    }
    __device__ __forceinline__ float scale(int i) const {
      if constexpr (kAhead) return factor[i / 32][i / 2 % 2];
      const float value = column[i / 8][i / 4 % 2 * 2 + i % 2];
      return kScaling == NarrowScaling::shared_row ? value : row[i / 2 % 2] * value;
    }
  };

  template <int kFloats>
  static __device__ __forceinline__ void add(Sums& d, const float (&block)[kFloats],
                                             const Scales<kFloats>& scales) {
    static_assert(kFloats <= Config::kAccumulators);
#pragma unroll
    for (int i = 0; i < kFloats; ++i) {
      if constexpr (kScales)
        d[i] = act::fused(block[i], scales.scale(i), d[i]);
      else
        d[i] += block[i];
    }
  }

  /// Releases a stage. If the stage holds scales, which all warps read, all warps have to arrive.
  __device__ __forceinline__ void release(i32 stage) const {
    if (kScales) {
      if (ptx::elect_one()) ptx::mbarrier_arrive(pipeline.empty_barrier(stage));
      ptx::sync_warp();
    } else if (threadIdx.x % 128 == 0) {
      ptx::mbarrier_arrive(pipeline.empty_barrier(stage));
    }
  }

  /// sum() for tiles of kWidth columns.
  template <int kWidth>
  __device__ __forceinline__ void sum_width(Sums& d, i32 blocks) const {
    using Scaling = Scales<kWidth / 2>;
    const u32 step = ptx::opaque(pipeline.step() / 16);
    Scaling scales;
    const auto load_scales = [&] {
      source.before_reading(pipeline);
      scales.load(scale_addresses, source.scales(pipeline, kWidth));
    };
    bool arrived = false;
#pragma unroll 1
    for (; blocks > 0; --blocks) {
      float block[kWidth / 2];
      if (!arrived) ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
      if (!Scaling::kAhead || !arrived) load_scales();
      const i32 stage = pipeline.stage;
      const u32 a = first_a + static_cast<u32>(stage) * step;
      ptx::wgmma_new(block, typename In::A{}, typename In::B{}, a, a + a_to_b);
      pipeline.advance();
      arrived = blocks > 1 &&
                ptx::mbarrier_test_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
      if constexpr (Scaling::kAhead) {
        scales.combine();
        if (arrived) load_scales();
      }
      ptx::wgmma_wait<0>();
#pragma unroll
      for (float& value : block) gemm_pin(value);
      if constexpr (!Scaling::kAhead) scales.combine();
      add(d, block, scales);
      release(stage);
    }
  }

  /// d = the sum of `blocks` k blocks of a tile of `width` columns. Each width has a loop of its
  /// own. One loop for all widths would have branches, which cost registers and instructions.
  __device__ __forceinline__ void sum(Sums& d, i32 blocks, i32 width) const {
#pragma unroll
    for (float& value : d) value = 0.0f;
    if constexpr (!Config::kSwapAB) {
      static_assert(Config::kTileN == 192, "the widest loop has 192 columns");
      if (width == 64) return sum_width<64>(d, blocks);
      if (width == 128) return sum_width<128>(d, blocks);
      return sum_width<192>(d, blocks);
    } else {
      static_assert(Config::kTileN == 160, "the widest loop has 160 columns");
      switch (width) {
        case 32:
          return sum_width<32>(d, blocks);
        case 64:
          return sum_width<64>(d, blocks);
        case 96:
          return sum_width<96>(d, blocks);
        case 128:
          return sum_width<128>(d, blocks);
        case 144:
          return sum_width<144>(d, blocks);
        default:
          return sum_width<160>(d, blocks);
      }
    }
  }
};

/// The stages of the stream-K kernels.
template <class Config>
struct NarrowStages {
  __device__ __forceinline__ void before_reading(const GemmPipeline<Config>&) const {}
  __device__ __forceinline__ u32 scales(const GemmPipeline<Config>& pipeline, i32 width) const {
    return narrow_stage_scales<Config>(pipeline, width);
  }
};

template <class Config>
__device__ __forceinline__ void narrow_promote(float (&d)[Config::kAccumulators],
                                               const GemmNarrowArgs& all, const StreamItem& item,
                                               GemmPipeline<Config>& pipeline, u32 group) {
  const NarrowStages<Config> stages;
  const i32 blocks = item.end - item.begin, width = all.stream.width;
  const auto sum = [&](auto loop) { loop.sum(d, blocks, width); };
  if (!gemm_scales_along_k(all.scales))
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::none>(stages, pipeline, group));
  else if constexpr (!Config::kSwapAB)
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::shared_column>(stages, pipeline,
                                                                               group));
  else if (all.scales.a_by == kScaleBlock && all.stream.full.gate != kGateHalves)
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::shared_row>(stages, pipeline,
                                                                            group));
  else
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::by_row>(stages, pipeline, group));
}

}  // namespace tw
