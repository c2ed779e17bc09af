// SPDX-License-Identifier: Apache-2.0
#pragma once
// Main loop of grouped kernels for 8-bit floats in which the tensor cores accumulate over all of k.
// Scales do not change along k, so those of a tile's last stage are applied to the finished sums.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

/// Like NarrowLoop, with the same functions of `Stages`.
template <class Config, class Stages>
struct NarrowFastLoop {
  using Sums = float[Config::kAccumulators];
  const Stages& stages;
  GemmPipeline<Config>& pipeline;
  u32 group;
  i32 stage = 0;   // of the products that were issued last
  u32 scales = 0;  // shared address of that stage's scales

  __device__ __forceinline__ NarrowFastLoop(const Stages& stages_of_kernel,
                                            GemmPipeline<Config>& pipeline_of_kernel,
                                            u32 group_of_thread)
      : stages(stages_of_kernel), pipeline(pipeline_of_kernel), group(group_of_thread) {}

  /// Each warp arrives, because each reads scales of a tile's last stage.
  __device__ __forceinline__ void release(i32 which) const {
    if (ptx::elect_one()) ptx::mbarrier_arrive(pipeline.empty_barrier(which));
    ptx::sync_warp();
  }

  /// Releases a stage when the products of the next one have been issued and its own are complete.
  __device__ __forceinline__ void multiply(Sums& d, i32 blocks, i32 width) {
    const u64 first = ptx::wgmma_descriptor(pipeline.base + group * (64 * 128), 64 * 128, 1024);
    const u32 a_to_b = (Config::kShared.a_bytes - group * (64 * 128)) / 16;
#pragma unroll 1
    for (i32 block = 0; block < blocks; ++block) {
      const i32 previous = stage;
      stage = pipeline.stage;
      ptx::mbarrier_wait(pipeline.full_barrier(stage), pipeline.phase);
      stages.before_reading(pipeline);
      scales = stages.scales(pipeline, width);
      const u64 a = first + static_cast<u32>(stage) * (pipeline.step() / 16);
      ptx::wgmma_to_160(d, typename Config::In::A{}, typename Config::In::B{}, a, a + a_to_b,
                        block > 0 ? 1 : 0,
                        static_cast<u32>(width - kGemmLeastWidth) / kGemmWidthStep);
      pipeline.advance();
      ptx::wgmma_wait<1>();
      if (block > 0) release(previous);
    }
    ptx::wgmma_wait<0>();
#pragma unroll
    for (float& value : d) gemm_pin(value);
  }

  __device__ __forceinline__ void apply_scales(Sums& d, i32 width) const {
    const NarrowScaleAddresses addresses =
        NarrowScaleAddresses(group * 256, Config::kTileM * 4).moved_by(scales);
    float row[2];
    addresses.load_rows(row);
#pragma unroll
    for (int group16 = 0; group16 < Config::kAccumulators / 8; ++group16) {
      if (group16 * 16 >= width) break;
      float column[4];
      addresses.load_columns(group16, column);
#pragma unroll
      for (int i = 0; i < 8; ++i) d[group16 * 8 + i] *= row[i / 2 % 2] * column[i / 4 * 2 + i % 2];
    }
  }

  /// Sets d to the scaled sum of `blocks` k blocks of a tile of `width` columns.
  __device__ __forceinline__ void sum(Sums& d, i32 blocks, i32 width) {
#pragma unroll
    for (float& value : d) value = 0.0f;
    if (blocks <= 0) return;
    multiply(d, blocks, width);
    apply_scales(d, width);
    release(stage);
  }
};

}  // namespace tw
