// SPDX-License-Identifier: Apache-2.0
#pragma once
// Consumer warpgroups: how those of a ping-pong kernel take turns, and the release of a tile's last
// stage.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"

namespace tw {

// Ping-pong: named barrier 3 + g opens when warpgroup g may issue its products.
template <class Config>
__device__ __forceinline__ void gemm_take_turn(u32 group) {
  if (Config::kPingpong) ptx::named_barrier(3 + group, 256);
}
template <class Config>
__device__ __forceinline__ void gemm_pass_turn(u32 group) {
  if (Config::kPingpong) ptx::named_barrier_arrive(3 + (group ^ 1), 256);
}

// Releases the stage whose products were issued last. The products must be complete.
template <class Config>
__device__ __forceinline__ void gemm_release_last(const GemmPipeline<Config>& pipeline) {
  gemm_release<Config>(pipeline, (pipeline.stage == 0 ? Config::kStages : pipeline.stage) - 1);
}

}  // namespace tw
