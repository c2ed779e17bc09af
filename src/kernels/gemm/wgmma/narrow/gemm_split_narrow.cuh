// SPDX-License-Identifier: Apache-2.0
#pragma once
// Split-K kernels for narrow types, for few rows of the caller: like the basic split-K kernels with
// swap-AB (gemm_basic.cuh), with scales of A and B, and with epilogues but no gates and no batches.
// The arguments select the type of D. Stream-K kernels serve more problems, but start their first
// load later, and take longer to add up parts.
//
// With a split-K factor above 1, a cluster multiplies one tile, and its CTAs send each other
// accumulators as in epilogue/split.cuh. Each CTA then writes a slice of the tile's columns. With a
// factor of 1 there are no clusters, and the kernel is persistent. "full" in names marks code of
// the epilogue kernels.

#include "kernels/gemm/epilogue/split.cuh"
#include "kernels/gemm/wgmma/gemm_produce.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_promote.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_write.cuh"

namespace tw {

// Sets d to the sum of k blocks, which are added in f32. Of two consumer warpgroups, one adds while
// the tensor cores multiply for the other one. A single warpgroup multiplies two k blocks at a time
// and adds the first one while the second one is multiplied.
template <class Config>
struct NarrowSplitSum {
  using Sums = float[Config::kAccumulators];
  GemmPipeline<Config>& pipeline;
  u32 first_a, a_to_b;   // low word of A's descriptor in stage 0, and its distance to B's
  bool arrived = false;  // whether the current stage is known to be full

  __device__ __forceinline__ NarrowSplitSum(GemmPipeline<Config>& of_kernel, u32 group)
      : pipeline(of_kernel),
        first_a(ptx::wgmma_descriptor_low(of_kernel.base + group * (64 * 128), 64 * 128)),
        a_to_b((Config::kShared.a_bytes - group * (64 * 128)) / 16) {}

  // Starts the products of the next k block, and returns its stage.
  __device__ __forceinline__ i32 start(Sums& block) {
    using In = typename Config::In;
    if (!arrived) ptx::mbarrier_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
    const i32 stage = pipeline.stage;
    const u32 a = first_a + static_cast<u32>(stage) * (pipeline.step() / 16);
    ptx::wgmma_new(block, typename In::A{}, typename In::B{}, a, a + a_to_b);
    pipeline.advance();
    arrived = ptx::mbarrier_test_wait(pipeline.full_barrier(pipeline.stage), pipeline.phase);
    return stage;
  }
  // Adds a finished k block, and releases its stage.
  __device__ __forceinline__ void add(Sums& d, Sums& block, i32 stage) const {
#pragma unroll
    for (float& value : block) gemm_pin(value);
    gemm_release<Config>(pipeline, stage);
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i) d[i] += block[i];
  }
  __device__ __forceinline__ void sum(Sums& d, i32 blocks) {
#pragma unroll
    for (float& value : d) value = 0.0f;
    if constexpr (Config::kConsumers == 1) {
#pragma unroll 1
      for (; blocks > 1; blocks -= 2) {
        float first[Config::kAccumulators], second[Config::kAccumulators];
        const i32 first_stage = start(first), second_stage = start(second);
        ptx::wgmma_wait<1>();
        add(d, first, first_stage);
        ptx::wgmma_wait<0>();
        add(d, second, second_stage);
      }
    }
#pragma unroll 1
    for (; blocks > 0; --blocks) {
      float block[Config::kAccumulators];
      const i32 stage = start(block);
      ptx::wgmma_wait<0>();
      add(d, block, stage);
    }
  }
};

// Sets d to the sum of k blocks whose scales change along k.
template <class Config>
__device__ __forceinline__ void narrow_split_scaled_sum(float (&d)[Config::kAccumulators],
                                                        const GemmScales& scales, i32 blocks,
                                                        GemmPipeline<Config>& pipeline, u32 group) {
  static_assert(
      Config::kStages * (Config::kTileM + Config::kTileN) * 4 <= static_cast<i32>(kGemmScaleBytes),
      "the scales of all stages must fit into their shared memory");
  using Stages = NarrowStages<Config>;
  const Stages stages;
#pragma unroll
  for (float& value : d) value = 0.0f;
  if (scales.a_by == kScaleBlock)
    NarrowLoop<Config, Stages, NarrowScaling::shared_row>(stages, pipeline, group)
        .template sum_width<Config::kTileN>(d, blocks);
  else
    NarrowLoop<Config, Stages, NarrowScaling::by_row>(stages, pipeline, group)
        .template sum_width<Config::kTileN>(d, blocks);
}

// Sets d to the products of the CTA's range of k.
template <class Config>
__device__ __forceinline__ void narrow_split_multiply(float (&d)[1][Config::kAccumulators],
                                                      const GemmScales& scales, GemmSpan span,
                                                      GemmPipeline<Config>& pipeline, u32 group) {
  if constexpr (Config::kPromotes) {
    const i32 blocks = gemm_blocks<Config>(span);
    if (gemm_scales_along_k(scales))
      narrow_split_scaled_sum<Config>(d[0], scales, blocks, pipeline, group);
    else
      NarrowSplitSum<Config>(pipeline, group).sum(d[0], blocks);
  } else {
    gemm_accumulate<Config>(d, span, pipeline, group);
    gemm_wait_products<Config>(d);
    if (span.end > span.begin) gemm_release_last<Config>(pipeline);
  }
}

// Adds up the parts of this CTA's slice in the order of k. The slice has `groups` groups of eight
// columns, which become the first columns of d. `cell` is the shared address of this thread's
// accumulators of the first part.
template <class Config>
__device__ __forceinline__ void narrow_split_add(float (&d)[Config::kAccumulators], u32 cell,
                                                 u32 groups, u32 parts) {
  constexpr u32 kStep = SplitShare<Config>::kStep;
  constexpr u32 kAtOnce = 4;  // groups whose loads overlap
#pragma unroll
  for (u32 first = 0; first < Config::kTileN / 8; first += kAtOnce) {
    if (first >= groups) return;
    float sum[kAtOnce][4] = {};
    u32 from[kAtOnce];  // beyond the last group: the last group's address again
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) from[i] = cell + min(first + i, groups - 1) * kStep;
#pragma unroll 1
    for (u32 part = 0; part < parts; ++part) {
      float one[kAtOnce][4];
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i) {
        ptx::load_shared_v4(from[i], one[i]);
        from[i] += groups * kStep;
      }
#pragma unroll
      for (u32 i = 0; i < kAtOnce * 4; ++i) sum[i / 4][i % 4] += one[i / 4][i % 4];
    }
#pragma unroll
    for (u32 i = 0; i < kAtOnce * 4; ++i) d[first * 4 + i] = sum[i / 4][i % 4];
  }
}

// Exchanges accumulators with the other CTAs of the cluster and adds up this CTA's slice, whose
// columns become the first columns of d. All consumer threads call it.
template <class Config>
__device__ __forceinline__ StreamSlice narrow_split_exchange(float (&d)[Config::kAccumulators],
                                                             const SplitShare<Config>& share,
                                                             const GemmPipeline<Config>& pipeline,
                                                             u32 group) {
  const u32 thread = threadIdx.x - 128, barrier = pipeline.partials_barrier();
  const u32 received =
      Config::kHasReceiveBuffer ? pipeline.base + Config::kShared.d_offset : pipeline.base;
  const u32 groups = share.owned(share.part);
  const bool has_rows = group * 4 + threadIdx.x / 32 % 4 < share.warps;
  gemm_sync_split<Config>();
  if (has_rows) split_send<Config>(d, share, received, barrier, 0, 0, thread);
  if (has_rows && groups > 0) {
    ptx::mbarrier_wait(barrier, 0);
    narrow_split_add<Config>(d, received + thread * 16, groups, share.parts);
  }
  return {static_cast<i32>(share.first()) * 8, static_cast<i32>(groups) * 8};
}

// Starts to copy the scales of a tile to shared memory.
template <class Config>
__device__ __forceinline__ void narrow_split_start_scales(const GemmNarrowArgs& narrow_args,
                                                          const GemmTilePosition& tile,
                                                          const GemmPipeline<Config>& pipeline,
                                                          u32 group) {
  if (!narrow_scales_once(narrow_args.scales)) return;
  const GemmArgs& args = narrow_args.stream.full.base;
  const u32 to = narrow_tile_scales<Config>(pipeline, group);
#pragma unroll 1
  for (auto line = static_cast<i32>(threadIdx.x % 128); line < 64 + Config::kTileN; line += 128)
    narrow_start_line_scale<Config>(narrow_args, args.m, args.n, {0, tile.m0, tile.n0}, line, to,
                                    group);
}

// Multiplies the columns of a slice by the scales of A and B.
template <class Config>
__device__ __forceinline__ void narrow_split_scale(float (&d)[Config::kAccumulators],
                                                   const GemmNarrowArgs& narrow_args,
                                                   const GemmPipeline<Config>& pipeline, u32 group,
                                                   const StreamSlice& slice) {
  if (!narrow_scales_once(narrow_args.scales)) return;
  ptx::async_copy_wait_all();
  stream_sync_group(group);
  const u32 scales = narrow_tile_scales<Config>(pipeline, group);
  float row[2];
  NarrowScaleAddresses(scales, 0).load_rows(row);
#pragma unroll
  for (i32 group8 = 0; group8 < Config::kTileN / 8; ++group8) {
    if (group8 * 8 >= slice.columns) break;
    const u32 column = static_cast<u32>(slice.first + group8 * 8) + threadIdx.x % 4 * 2;
    float x, y;
    ptx::load_shared_v2(scales + 64 * 4 + narrow_scale_slot(column) * 4, x, y);
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      d[group8 * 4 + half * 2] *= row[half] * x;
      d[group8 * 4 + half * 2 + 1] *= row[half] * y;
    }
  }
}

// Stores a slice to D from registers. m0 is the warp's first row and n0 the slice's first column.
// The columns of the slice are lines of D, whose length is a multiple of 16 bytes.
template <class Config, class Out>
__device__ __forceinline__ void narrow_split_store(const float (&d)[Config::kAccumulators],
                                                   const FullRun& run, i64 stride, i32 m0, i32 n0) {
  constexpr bool kPairs = Out::kBytes == 2;
  const auto lane = static_cast<i32>(ptx::lane_id());
  const i32 at = m0 + (kPairs ? lane % 4 * 2 : lane / 4);
  i32 line = n0 + (kPairs ? lane / 4 : lane % 4 * 2);
  auto* to = reinterpret_cast<typename Out::Storage*>(run.d) + (line * stride + at);
#pragma unroll
  for (i32 group8 = 0; group8 < Config::kTileN / 8; ++group8) {
    if (n0 + group8 * 8 >= run.lines) break;
    const float* const sums = &d[group8 * 4];
    if constexpr (kPairs) {
      const u32 low = ptx::transpose_matrix(Out::pack(sums[0], sums[1]));
      const u32 high = ptx::transpose_matrix(Out::pack(sums[2], sums[3]));
      if (line < run.lines && at < run.extent) *reinterpret_cast<u32*>(to) = low;
      if (line < run.lines && at + 8 < run.extent) *reinterpret_cast<u32*>(to + 8) = high;
    } else {
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        if (line + i % 2 < run.lines && at + i / 2 * 8 < run.extent)
          to[i % 2 * stride + i / 2 * 8] = sums[i];
    }
    line += 8;
    to += 8 * stride;
  }
}

// Writes a slice of a tile to D.
template <class Config>
__device__ __forceinline__ void narrow_split_write(float (&d)[Config::kAccumulators],
                                                   const GemmNarrowArgs& narrow_args,
                                                   const GemmTilePosition& tile,
                                                   const StreamSlice& slice,
                                                   const GemmPipeline<Config>& pipeline,
                                                   u32 group) {
  const GemmEpilogueArgs& args = narrow_args.stream.full;
  const u32 type = narrow_args.scales.d_type;
  const GemmTileOrigin place{0, tile.m0, tile.n0 + slice.first};
  FullRun run = narrow_run<Config>(narrow_args, args.base.m, args.base.n, 0);
  run.lines = min(run.lines, place.n0 + slice.columns);
  if (!narrow_is_short(args, run, type)) {
    // The slabs may overwrite accumulators that other warps still read.
    stream_sync_group(group);
    u32 largest = 0;
    narrow_write_general<Config>(d, narrow_args, run, place, pipeline.base, group, largest);
    return scaled_amax(args, type, largest);
  }
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  narrow_make_short<Config>(d, args, run, m0, place.n0);
  const i32 row0 = m0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16);
  const i64 stride = args.base.d_stride_m;
  if (type == kFormatBF16) return narrow_split_store<Config, Bf16>(d, run, stride, row0, place.n0);
  if (type == kFormatF16) return narrow_split_store<Config, F16>(d, run, stride, row0, place.n0);
  narrow_split_store<Config, F32>(d, run, stride, row0, place.n0);
}

template <class Config>
__device__ __forceinline__ void narrow_split_consume(const GemmNarrowArgs& narrow_args,
                                                     GemmPipeline<Config> pipeline, u32 group) {
  const GemmArgs& args = narrow_args.stream.full.base;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 units = args.units_m * args.units_n, step = gemm_unit_step<Config>();
  const u32 parts = ptx::cluster_size();
  ptx::grid_dependency_wait();
#pragma unroll 1
  for (i32 unit = gemm_first_unit<Config>(); unit < units; unit += step) {
    const GemmTilePosition tile = gemm_tile_position<Config>(args, unit, 0);
    const SplitShare<Config> share(args, tile.m0, tile.n0);
    if (parts > 1 && threadIdx.x == 128)
      ptx::mbarrier_arrive_expect(pipeline.partials_barrier(), share.bytes());
    if (share.owned(share.part) > 0)
      narrow_split_start_scales<Config>(narrow_args, tile, pipeline, group);
    float d[1][Config::kAccumulators];
    narrow_split_multiply<Config>(d, narrow_args.scales, span, pipeline, group);
    StreamSlice slice{0, Config::kTileN};
    // A cluster has only one unit.
    if (parts > 1) slice = narrow_split_exchange<Config>(d[0], share, pipeline, group);
    if (slice.columns <= 0) return;
    narrow_split_scale<Config>(d[0], narrow_args, pipeline, group, slice);
    narrow_split_write<Config>(d[0], narrow_args, tile, slice, pipeline, group);
    if (unit + step < units) stream_sync_group(group);  // the next tile's scales replace these
  }
  if (parts == 1) gemm_sync_split<Config>();
}

// Loads the scales of all stages if they change along k. kScaleLoaders threads call it.
template <class Config>
__device__ __forceinline__ void narrow_split_load_scales(const GemmNarrowArgs& narrow_args,
                                                         GemmPipeline<Config> pipeline,
                                                         i32 thread) {
  const GemmArgs& args = narrow_args.stream.full.base;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 begin = span.begin / Config::kTileK, end = begin + gemm_blocks<Config>(span);
  const i32 units = args.units_m * args.units_n, step = gemm_unit_step<Config>();
#pragma unroll 1
  for (i32 unit = gemm_first_unit<Config>(); unit < units; unit += step) {
    const GemmTilePosition tile = gemm_tile_position<Config>(args, unit, 0);
    narrow_load_item_scales<Config>(narrow_args, args, {0, tile.m0, tile.n0}, {unit, begin, end},
                                    pipeline, thread);
  }
}

template <class Config>
__device__ __forceinline__ void gemm_split_narrow(const GemmNarrowArgs& narrow_args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  const GemmArgs& args = narrow_args.stream.full.base;
  const GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  // If scales change along k, a stage is full only when its scales have arrived too, and every
  // consumer warp releases it.
  const bool along_k = Config::kPromotes && gemm_scales_along_k(narrow_args.scales);
  gemm_begin<Config>(
      args, pipeline, warp, 0,
      {1 + (along_k ? u32{kScaleLoaders} : 0), Config::kReaders * (along_k ? 4 : 1)});
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<232>();
    narrow_split_consume<Config>(narrow_args, pipeline, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
    return;
  }
  if (Config::kConsumers > 1) ptx::set_max_registers_down<40>();
  if (warp == 0 && ptx::elect_one()) gemm_produce<Config>(args, pipeline, 0, 0);
  __syncwarp();
  ptx::grid_dependency_wait();  // idle threads too: a grid must end after its predecessors
  if (along_k && warp > 0)
    narrow_split_load_scales<Config>(narrow_args, pipeline, static_cast<i32>(threadIdx.x) - 32);
  gemm_sync_split<Config>();
}

}  // namespace tw
