// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps that the device itself changes. One instruction a function.

#include "kernels/arguments.h"

namespace tw::ptx {

/// Sets the address of a map in shared memory, aligned to 128 bytes. One thread.
__device__ __forceinline__ void tensormap_replace_address(u32 shared, u64 address) {
  asm volatile(
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared),
      "l"(address)
      : "memory");
}

/// Copies a map from shared to global memory, both aligned to 128 bytes, and releases it to those
/// of the GPU that acquire it. All threads of a converged warp together.
__device__ __forceinline__ void tensormap_publish(u64 global, u32 shared) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
      " [%0], [%1], 128;" ::"l"(global),
      "r"(shared)
      : "memory");
}

/// Before a thread's first copy through a map in global memory that a kernel wrote.
__device__ __forceinline__ void tensormap_acquire(const KernelMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace tw::ptx
