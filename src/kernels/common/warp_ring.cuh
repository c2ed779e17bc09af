// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pipeline of one warp. Asynchronous loads fill stages of shared memory, bulk stores empty them.
//
// Items are the numbers first, first + step, ... below end. For each item the whole warp calls
//   mover.load(item, stage, barrier)   issues loads to the stage, and arrives on the barrier
//                                      exactly once with the bytes that all lanes load together
//   mover.store(item, stage)           after the loads have landed: issues bulk stores
// While up to kPendingStores items are being stored, `stages` - 1 - kPendingStores others are being
// loaded. run_warp_pipeline() returns when the last store has read shared memory; the writes
// complete at the end of the grid.

#include "kernels/ptx/basic.cuh"

namespace tw {

inline constexpr int kPendingStores = 2;
inline constexpr u32 kMinPipelineStages = kPendingStores + 2;

struct WarpPipeline {
  u32 data;      // shared address of the first stage
  u32 barriers;  // shared address of `stages` barriers
  u32 stages;    // kMinPipelineStages at least
  u32 stage_bytes;
};

/// Sets up the calling warp's stages and barriers. The block's dynamic shared memory holds the
/// stages of all warps, then their barriers. `arrivals` is the barriers' arrival count. The warp
/// must be converged.
__device__ __forceinline__ WarpPipeline make_warp_pipeline(void* shared, u32 stages,
                                                           u32 stage_bytes, u32 arrivals = 1) {
  const u32 base = ptx::shared_address(shared);
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 warps = blockDim.x / 32;
  WarpPipeline pipeline;
  pipeline.data = base + warp * stages * stage_bytes;
  pipeline.barriers = base + warps * stages * stage_bytes + warp * stages * 8;
  pipeline.stages = stages;
  pipeline.stage_bytes = stage_bytes;
  if (ptx::lane_id() == 0) {
    for (u32 stage = 0; stage < stages; ++stage)
      ptx::mbarrier_init(pipeline.barriers + stage * 8, arrivals);
    ptx::fence_mbarrier_init();
  }
  ptx::sync_warp();
  return pipeline;
}

template <class Mover>
__device__ __forceinline__ void run_warp_pipeline(const WarpPipeline& pipeline, Mover& mover,
                                                  u64 first, u64 end, u64 step) {
  const u32 lead = pipeline.stages - 1 - kPendingStores;
  u64 loading = first;
  u32 load_stage = 0;
  u32 store_stage = 0;
  u32 parity = 0;
  u32 ahead = 0;
  for (u64 storing = first; storing < end;) {
    if (loading < end) {
      // The store that last read this stage is more than kPendingStores groups old.
      ptx::store_wait_read<kPendingStores>();
      ptx::sync_warp();
      mover.load(loading, pipeline.data + load_stage * pipeline.stage_bytes,
                 pipeline.barriers + load_stage * 8);
      loading += step;
      load_stage = load_stage + 1 == pipeline.stages ? 0 : load_stage + 1;
      if (ahead < lead) {
        ++ahead;
        continue;
      }
    }
    ptx::mbarrier_wait(pipeline.barriers + store_stage * 8, parity);
    mover.store(storing, pipeline.data + store_stage * pipeline.stage_bytes);
    ptx::store_commit();
    storing += step;
    if (++store_stage == pipeline.stages) {
      store_stage = 0;
      parity ^= 1;
    }
  }
  ptx::store_wait_read<0>();
}

}  // namespace tw
