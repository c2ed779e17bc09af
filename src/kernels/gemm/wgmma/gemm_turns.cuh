// SPDX-License-Identifier: Apache-2.0
#pragma once
// How consumer warpgroups of a wgmma kernel take turns, and give back the last stage of a tile.

#include "kernels/gemm/wgmma/gemm_multiply.cuh"

namespace tw {

// Turns of the ping-pong kernels: barrier 3 + g opens when warpgroup g may send its products.
template <class Config>
__device__ __forceinline__ void gemm_take_turn(u32 group) {
  if (Config::kPingpong) ptx::named_barrier(3 + group, 256);
}
template <class Config>
__device__ __forceinline__ void gemm_pass_turn(u32 group) {
  if (Config::kPingpong) ptx::named_barrier_arrive(3 + (group ^ 1), 256);
}

// The stage whose products were sent last is read.
template <class Config>
__device__ __forceinline__ void gemm_release_last(const GemmRing<Config>& ring) {
  gemm_release<Config>(ring, (ring.stage == 0 ? Config::kStages : ring.stage) - 1);
}

}  // namespace tw
