// SPDX-License-Identifier: Apache-2.0
#pragma once
// Main loop of the kernels that promote the accumulators of 8-bit floats to f32. Tensor cores keep
// only 14 bits of such an accumulation. A consumer warpgroup therefore adds the accumulators of
// each k block of 128 to f32 registers. If scales change along k, it multiplies the accumulators by
// the block's scales first. While one warpgroup adds, the tensor cores multiply for the other one.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

/// The scales of a k block's accumulators.
enum class NarrowScaling {
  none,
  by_row,        // one for each row and one for each column
  shared_row,    // one for each column, and one that the two rows of a thread share
  shared_column  // one for each row, and one for every 64 columns
};

/// The main loop of one tile. `Stages` has two functions that differ between kernels: scales()
/// returns where the scales of the current stage are, and a consumer calls before_reading() before
/// it reads a stage.
///
/// The order of the steps follows from profiles of an H100:
/// - Loads from shared memory wait behind wgmma instructions that wait for the tensor cores. If a k
///   block has many scales, all of them are therefore loaded before its products are started.
/// - The next stage's barrier is tested while the products run.
template <class Config, class Stages, NarrowScaling kScaling>
struct NarrowLoop {
  using In = typename Config::In;
  using Sums = float[Config::kAccumulators];
  static constexpr bool kScales = kScaling != NarrowScaling::none;
  const Stages& stages;
  GemmPipeline<Config>& pipeline;
  NarrowScaleAddresses scale_addresses;  // relative to the start of a stage's scales
  u32 first_a, a_to_b;  // low word of A's descriptor in stage 0, and its distance to B's

  __device__ __forceinline__ NarrowLoop(const Stages& stages_of_kernel,
                                        GemmPipeline<Config>& pipeline_of_kernel, u32 group)
      : stages(stages_of_kernel),
        pipeline(pipeline_of_kernel),
        scale_addresses(group * 256, Config::kTileM * 4),
        first_a(ptx::wgmma_descriptor_low(pipeline_of_kernel.base + group * (64 * 128), 64 * 128)),
        a_to_b((Config::kShared.a_bytes - group * (64 * 128)) / 16) {
    scale_addresses.rows = ptx::opaque(scale_addresses.rows);
    scale_addresses.columns = ptx::opaque(scale_addresses.columns);
  }

  /// The scales of a thread's rows and columns in a stage.
  template <int kFloats>
  struct Scales {
    // If columns share scales, a thread has so few scales that it loads those of the next stage
    // while the products run. `factor` then has the products of this stage's row and column scales.
    static constexpr bool kLoadsAhead = kScaling == NarrowScaling::shared_column;
    static constexpr int kColumnGroups = kLoadsAhead ? kFloats / 32 : kFloats / 8;
    float row[2], column[kColumnGroups][kLoadsAhead ? 1 : 4],
        factor[kLoadsAhead ? kColumnGroups : 1][2];
    // Loads the scales of a stage, which begin at shared address `from`.
    __device__ __forceinline__ void load(const NarrowScaleAddresses& scale_addresses, u32 from) {
      if constexpr (kScales) {
        const NarrowScaleAddresses addresses = scale_addresses.moved_by(from);
        addresses.load_rows(row);
#pragma unroll
        for (int group = 0; group < kColumnGroups; ++group) {
          if constexpr (kLoadsAhead)
            column[group][0] = addresses.load_first_column(group * 4);
          else
            addresses.load_columns(group, column[group]);
        }
      }
    }
    // Multiplies row scales by column scales if rows or columns share them. It is called after the
    // products are started if kLoadsAhead is set, else after they are finished. gemm_pin() keeps
    // nvcc from multiplying scales before the products are started, which would delay them.
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
      if constexpr (kLoadsAhead) {
#pragma unroll
        for (int group = 0; group < kColumnGroups; ++group)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            factor[group][half] = row[half] * column[group][0];
            gemm_pin(factor[group][half]);
          }
      }
    }
    // The scale of accumulator i.
    __device__ __forceinline__ float scale(int i) const {
      if constexpr (kLoadsAhead) return factor[i / 32][i / 2 % 2];
      const float value = column[i / 8][i / 4 % 2 * 2 + i % 2];
      return kScaling == NarrowScaling::shared_row ? value : row[i / 2 % 2] * value;
    }
  };

  /// Adds the accumulators of a k block, multiplied by their scales, to d.
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

  /// Releases a stage. If the stage has scales, each warp arrives when it has read them. Otherwise
  /// one thread arrives for the warpgroup.
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
      stages.before_reading(pipeline);
      scales.load(scale_addresses, stages.scales(pipeline, kWidth));
    };
    bool arrived = false;  // whether the current stage is known to be full
#pragma unroll 1
    for (; blocks > 0; --blocks) {
      float block[kWidth / 2];
      if (!arrived) ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
      // With kLoadsAhead the scales have been loaded before if the barrier's test was successful.
      if (!Scaling::kLoadsAhead || !arrived) load_scales();
      const i32 stage = pipeline.stage;
      const u32 a = first_a + static_cast<u32>(stage) * step;
      ptx::wgmma_new(block, typename In::A{}, typename In::B{}, a, a + a_to_b);
      pipeline.advance();
      arrived = blocks > 1 &&
                ptx::mbarrier_test_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
      if constexpr (Scaling::kLoadsAhead) {
        scales.combine();
        if (arrived) load_scales();
      }
      ptx::wgmma_wait<0>();
#pragma unroll
      for (float& value : block) gemm_pin(value);
      if constexpr (!Scaling::kLoadsAhead) scales.combine();
      add(d, block, scales);
      release(stage);
    }
  }

  /// sum_width() for the one of kWidth and kWider that `width` is.
  template <int kWidth, int... kWider>
  __device__ __forceinline__ void sum_any_width(Sums& d, i32 blocks, i32 width) const {
    if constexpr (sizeof...(kWider) > 0) {
      if (width != kWidth) return sum_any_width<kWider...>(d, blocks, width);
    }
    sum_width<kWidth>(d, blocks);
  }

  /// Sets d to the sum of `blocks` k blocks of a tile of `width` columns. Each width has its own
  /// loop, because the branches of a common loop would cost registers and instructions.
  __device__ __forceinline__ void sum(Sums& d, i32 blocks, i32 width) const {
#pragma unroll
    for (float& value : d) value = 0.0f;
    if constexpr (!Config::kSwapAB) {
      static_assert(Config::kTileN == 192, "the widest loop has 192 columns");
      sum_any_width<64, 128, 192>(d, blocks, width);
    } else {
      static_assert(Config::kTileN == 160, "the widest loop has 160 columns");
      sum_any_width<32, 48, 64, 80, 96, 112, 128, 144, 160>(d, blocks, width);
    }
  }
};

/// The functions that NarrowLoop calls in stream-K kernels.
template <class Config>
struct NarrowStages {
  __device__ __forceinline__ void before_reading(const GemmPipeline<Config>&) const {}
  __device__ __forceinline__ u32 scales(const GemmPipeline<Config>& pipeline, i32 width) const {
    return narrow_stage_scales<Config>(pipeline, width);
  }
};

// Sets d to the sum of an item's k blocks. With a gate of halves, a thread's two rows can be in
// different scale blocks of A, so they do not always share a scale.
template <class Config>
__device__ __forceinline__ void narrow_promote(float (&d)[Config::kAccumulators],
                                               const GemmNarrowArgs& narrow_args,
                                               const StreamItem& item,
                                               GemmPipeline<Config>& pipeline, u32 group) {
  const NarrowStages<Config> stages;
  const i32 blocks = item.end - item.begin, width = narrow_args.stream.width;
  const auto sum = [&](auto loop) { loop.sum(d, blocks, width); };
  if (!gemm_scales_along_k(narrow_args.scales))
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::none>(stages, pipeline, group));
  else if constexpr (!Config::kSwapAB)  // scales_fit() in gemm_rank.cpp allows only this case
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::shared_column>(stages, pipeline,
                                                                               group));
  else if (narrow_args.scales.a_by == kScaleBlock && narrow_args.stream.full.gate != kGateHalves)
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::shared_row>(stages, pipeline,
                                                                            group));
  else
    sum(NarrowLoop<Config, NarrowStages<Config>, NarrowScaling::by_row>(stages, pipeline, group));
}

}  // namespace tw
