// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prepares a batch given by addresses, before the kernel of the product runs (see
// arguments/gemm_pointers.h). One warp handles one product: it checks the addresses, writes them to
// the workspace, and writes the product's tensor maps.

#include "kernels/gemm/arguments/gemm_pointers.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

// Builds the product's maps in shared memory and copies them to the workspace. The TMA reads maps
// through the tensor-map proxy: the copy instruction also is the proxy fence.
__device__ __forceinline__ void gemm_make_maps(const GemmPointersArgs& args, KernelMap* shared,
                                               u64 address, i32 index, u32 lane) {
  constexpr u32 kWords = sizeof(KernelMap) / 8;
#pragma unroll
  for (u32 i = lane; i < kGemmMaps * kWords; i += 32)
    shared[i / kWords].words[i % kWords] = args.maps[i / kWords].words[i % kWords];
  __syncwarp();
  const u64 of_map = __shfl_sync(0xffffffffu, address, gemm_operand_of_map(lane % kGemmMaps));
  if (lane < kGemmMaps)
    ptx::tensormap_replace_address(ptx::shared_address(&shared[lane]),
                                   gemm_map_address(of_map, args.product_maps));
  __syncwarp();
  const u64 to = args.product_maps + static_cast<u64>(index) * (kGemmMaps * sizeof(KernelMap));
#pragma unroll
  for (u32 map = 0; map < kGemmMaps; ++map)
    ptx::tensormap_publish(ptx::global_pointer(to + map * sizeof(KernelMap)),
                           ptx::shared_address(&shared[map]));
}

template <bool kMakesMaps>
__device__ void gemm_read_pointers(const GemmPointersArgs& args) {
  // An earlier run may still read the workspace that this kernel writes.
  ptx::grid_dependency_wait_and_launch();
  __shared__ KernelMap shared[kGemmPointersWarps][kGemmMaps];
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const u32 lane = ptx::lane_id();
  const auto index = static_cast<i32>(blockIdx.x * kGemmPointersWarps + warp);
  if (index >= args.count) return;
  u64 address = 0;
  bool bad = false;
  if (lane < kGemmOperands && args.arrays[lane] != 0) {
    address = reinterpret_cast<const u64*>(args.arrays[lane])[index];
    bad = gemm_bad_address(address, args.alignment[lane]);
  }
  if (__any_sync(0xffffffffu, bad)) {
    address = 0;
    if (lane == 0 && args.invalid_count != 0)
      atomicAdd(reinterpret_cast<u64*>(args.invalid_count), u64{1});
  }
  if (lane < kGemmOperands)
    reinterpret_cast<u64*>(args.matrices)[static_cast<i64>(index) * kGemmOperands + lane] = address;
  if constexpr (kMakesMaps) gemm_make_maps(args, shared[warp], address, index, lane);
}

}  // namespace tw
