// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stream-K kernels for narrow types: like gemm_stream.cuh, with scales of A and B and every
// epilogue. The arguments select the type of D.
//
// Promoting kernels (scaledstream, scaledrowstream) add the accumulators of each k block of 128 to
// a second set of f32 registers. Fast ones (faststream) accumulate all of k in the tensor cores.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/wgmma/narrow/narrow_promote.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_write.cuh"
#include "kernels/gemm/wgmma/stream_join.cuh"
#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/gemm/wgmma/stream_produce.cuh"
#include "kernels/gemm/wgmma/stream_slices.cuh"

namespace tw {

// The slice of a unit that this CTA writes, after the unit's parts are added up.
template <class Config>
__device__ __forceinline__ StreamSlice narrow_slice(const GemmStreamArgs& args,
                                                    const StreamWork<Config>& work, i32 unit,
                                                    const GemmPipeline<Config>& pipeline) {
  if (stream_is_joined<Config>(args)) return stream_joined_slice(args);
  if (kStreamHasSlices<Config> && unit >= work.whole_units)
    return stream_taken_slice<Config>(args, pipeline.reduction_word());
  return {0, args.width};
}

// Writes a slice of a unit. This function recomputes the slice and its place, and updates amax for
// each slice, because two sets of accumulators leave no registers to keep those values in. A slice
// may take another path through the epilogue than the whole tile would; all give the same bits.
template <class Config>
__device__ __forceinline__ void narrow_write_slice(typename Config::Sum (&d)[Config::kAccumulators],
                                                   const GemmNarrowArgs& narrow_args,
                                                   const StreamWork<Config>& work, i32 unit,
                                                   const GemmPipeline<Config>& pipeline,
                                                   u32 group) {
  const GemmStreamArgs& args = narrow_args.stream;
  narrow_with_floats<Config>(
      d, narrow_args.scales.d_type, [&](float(&sums)[Config::kAccumulators]) {
        const StreamSlice slice = narrow_slice<Config>(args, work, unit, pipeline);
        narrow_apply_scales<Config>(sums, narrow_args, pipeline, group, slice.first);
        const auto sizes = StreamSizes<Config>::read(args);
        GemmTileOrigin tile = stream_tile<Config>(args, sizes, unit, 0);
        FullRun run = narrow_run<Config>(narrow_args, sizes.m, sizes.n, tile.z);
        tile.n0 += slice.first;
        i32& end = Config::kSwapAB ? run.lines : run.extent;  // of the columns to write
        end = min(end, tile.n0 + slice.columns);
        u32 largest = 0;
        narrow_write<Config>(sums, narrow_args, run, tile, pipeline.base, group, largest);
        scaled_amax(args.full, narrow_args.scales.d_type, largest);
      });
}

// Adds up the parts of a tile if several CTAs multiplied it, and writes this CTA's slice.
template <class Config>
__device__ __forceinline__ void narrow_finish(typename Config::Sum (&d)[Config::kAccumulators],
                                              const GemmNarrowArgs& narrow_args,
                                              const StreamWork<Config>& work,
                                              const StreamItem& item,
                                              const GemmPipeline<Config>& pipeline, u32 group) {
  const GemmStreamArgs& args = narrow_args.stream;
  const i32 divided_unit = item.unit - work.whole_units;
  if (stream_is_joined<Config>(args)) {
    if (!stream_reduce_in_cluster<Config>(d, args, pipeline)) return;
  } else if (divided_unit >= 0) {
    const auto worker = static_cast<i32>(ptx::reread_block_id());
    const i32 slot = gemm_stream_slot(divided_unit, args.padded_k_blocks, args.share, worker);
    StreamPartial<Config>(args, worker, slot, 0).store(d);
    const StreamSlice slice = stream_take_slice<Config>(
        args, divided_unit, worker, 0, work.is_finished(), pipeline.reduction_word());
    if (slice.columns <= 0) return;
    stream_add_parts<Config>(d, args, divided_unit, slice, 0);
  }
  narrow_write_slice<Config>(d, narrow_args, work, item.unit, pipeline, group);
}

template <class Config>
__device__ __forceinline__ void narrow_consume(const GemmNarrowArgs& narrow_args,
                                               GemmPipeline<Config> pipeline, u32 group) {
  const GemmStreamArgs& args = narrow_args.stream;
  ptx::grid_dependency_wait();
  StreamWork<Config> work(args, StreamSizes<Config>::read(args));
  StreamItem item;
  while (work.next(&item)) {
    // Zeroed, so that the previous tile's accumulators are dead here. Where the epilogue converts
    // accumulators to floats, the compiler would otherwise keep two sets of registers.
    typename Config::Sum d[1][Config::kAccumulators] = {};
    narrow_start_scale_copies<Config>(narrow_args, item.unit, pipeline, group);
    if constexpr (Config::kPromotes) {
      narrow_promote<Config>(d[0], narrow_args, item, pipeline, group);
    } else {
      const auto worker = static_cast<i32>(ptx::reread_block_id());
      const i32 divided_unit = item.unit - work.whole_units;
      const i32 slot = divided_unit < 0 ? 0
                                        : gemm_stream_slot(divided_unit, args.padded_k_blocks,
                                                           args.share, worker);
      const StreamPartial<Config> partial(args, worker, slot, 0);
      stream_accumulate<Config>(d, args, item, partial, pipeline, group);
    }
    ptx::async_copy_wait_all();
    narrow_finish<Config>(d[0], narrow_args, work, item, pipeline, group);
  }
  if constexpr (!Config::kSwapAB) full_store_finish();
}

// Initializes the barriers. If scales change along k, a stage is full only when its scales have
// arrived too, and every consumer warp releases it. Otherwise one thread of each warpgroup does.
template <class Config>
__device__ __forceinline__ void narrow_begin(const GemmNarrowArgs& narrow_args,
                                             const GemmPipeline<Config>& pipeline, u32 warp) {
  if (warp == 0 && ptx::elect_one()) {
    ptx::prefetch_map(&narrow_args.stream.full.base.map_a);
    ptx::prefetch_map(&narrow_args.stream.full.base.map_b);
    const bool along_k = Config::kPromotes && gemm_scales_along_k(narrow_args.scales);
    for (i32 stage = 0; stage < narrow_args.stream.stages; ++stage) {
      ptx::mbarrier_init(pipeline.full_barrier(stage), along_k ? 1 + kScaleLoaders : 1);
      ptx::mbarrier_init(pipeline.empty_barrier(stage), Config::kReaders * (along_k ? 4 : 1));
    }
    stream_init_cluster_reduction<Config>(narrow_args.stream, pipeline);
    ptx::fence_mbarrier_init();
  }
  ptx::sync_block();
  stream_arrive_if_joined<Config>(narrow_args.stream);
}

template <class Config>
__device__ __forceinline__ void gemm_stream_narrow(const GemmNarrowArgs& narrow_args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> pipeline(ptx::warp_uniform(ptx::shared_address(gemm_shared_memory)));
  pipeline.args = &narrow_args.stream;
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  narrow_begin<Config>(narrow_args, pipeline, warp);
  if (warp >= 4) {
    if (Config::kConsumers > 1) ptx::set_max_registers_up<232>();
    narrow_consume<Config>(narrow_args, pipeline, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
    return;
  }
  if (Config::kConsumers > 1) ptx::set_max_registers_down<40>();
  if (warp == 0) {
    if (ptx::elect_one()) stream_produce<Config, false>(narrow_args.stream, pipeline, 0);
    __syncwarp();
    ptx::grid_dependency_wait();  // so that this grid ends after its predecessors
  } else {
    ptx::grid_dependency_wait();
    if (Config::kPromotes && gemm_scales_along_k(narrow_args.scales))
      narrow_load_scales<Config>(narrow_args, pipeline, static_cast<i32>(threadIdx.x) - 32);
  }
  stream_wait_if_joined<Config>(narrow_args.stream);
}

}  // namespace tw
