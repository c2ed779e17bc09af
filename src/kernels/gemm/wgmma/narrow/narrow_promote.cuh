// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of 8-bit floats with promotion: after each k block of 128 the accumulators, of which the
// tensor cores keep only 14 bits, are added to f32 registers, multiplied by the block's scales if
// there are any. While one warpgroup adds, the tensor cores work for the other one.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

// Adds the accumulators of a k block to d, for the columns in use. Widths are multiples of 16
// columns.
template <class Config>
__device__ __forceinline__ void narrow_add(float (&d)[Config::kAccumulators],
                                           const float (&part)[Config::kAccumulators], i32 width) {
#pragma unroll
  for (int i = 0; i < Config::kAccumulators; ++i) {
    if (i % 8 == 0 && i * 2 >= width) break;
    d[i] += part[i];
  }
}

template <class Config>
__device__ __forceinline__ void narrow_add_scaled(float (&d)[Config::kAccumulators],
                                                  const float (&part)[Config::kAccumulators],
                                                  i32 width, const NarrowPlaces& scales) {
  float row[2];
  scales.of_rows(row);
#pragma unroll
  for (int group = 0; group < Config::kAccumulators / 4; ++group) {
    if (group % 2 == 0 && group * 8 >= width) break;
    float column[2];
    scales.of_columns(group, column);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      d[group * 4 + i] =
          act::fused(part[group * 4 + i], row[i / 2] * column[i % 2], d[group * 4 + i]);
  }
}

template <class Config>
__device__ __forceinline__ void narrow_promote(float (&d)[Config::kAccumulators],
                                               const GemmNarrowArgs& all, const StreamItem& item,
                                               GemmPipeline<Config>& ring, u32 group) {
  using In = typename Config::In;
  const bool along_k = gemm_scales_along_k(all.scales);
  const i32 width = all.stream.width;
#pragma unroll
  for (float& value : d) value = 0.0f;
#pragma unroll 1
  for (i32 block = item.begin; block < item.end; ++block) {
    ptx::mbarrier_wait(ring.full_barrier(ring.stage), ring.phase);
    const u64 a = ptx::wgmma_descriptor(ring.a() + group * (64 * 128), 64 * 128, 1024);
    const u64 b = ptx::wgmma_descriptor(ring.b(), 64 * 128, 1024);
    float part[Config::kAccumulators];
    ptx::wgmma_new_width(part, typename In::A{}, typename In::B{}, a, b, all.stream.width_number);
    ptx::wgmma_wait<0>();
#pragma unroll
    for (float& value : part) gemm_pin(value);
    if (along_k) {
      const u32 scales = narrow_stage_scales<Config>(ring, width);
      narrow_add_scaled<Config>(d, part, width,
                                NarrowPlaces(scales + group * 256, scales + Config::kTileM * 4));
      // Every warp has read scales from the stage, so every warp arrives.
      ptx::sync_warp();
      if (ptx::lane_id_again() == 0) ptx::mbarrier_arrive(ring.empty_barrier(ring.stage));
    } else {
      if (ptx::thread_id_again() % 128 == 0) ptx::mbarrier_arrive(ring.empty_barrier(ring.stage));
      narrow_add<Config>(d, part, width);
    }
    ring.advance();
  }
}

}  // namespace tw
