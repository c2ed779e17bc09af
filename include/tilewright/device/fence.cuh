// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_FENCE_CUH
#define TILEWRIGHT_DEVICE_FENCE_CUH
/// @file fence.cuh
/// Fences between ordinary accesses and the TMA, and tensor maps that a kernel changes itself.

#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Makes barriers that the thread has initialized visible to the TMA and to the cluster.
/// @ptx `fence.mbarrier_init.release.cluster`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that called mbarrier_init(), once after all its calls.
/// @ordering Call it before the block or cluster barrier after which other threads use the
/// barriers.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Makes the thread's ordinary accesses to this block's shared memory visible to the TMA and to the
/// tensor cores.
/// @ptx `fence.proxy.async.shared::cta`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Each thread that has written bytes that a store, reduction or wgmma will read.
/// @ordering Call it after the thread's writes, and before the barrier after which another thread
/// issues the instruction that reads them. Bytes that a load has written need no fence before they
/// are read.
__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The same as fence_async_shared() for global memory. It is for data that the kernel writes with
/// ordinary stores and then loads through the TMA.
/// @ptx `fence.proxy.async.global`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Each thread that has written such data.
/// @ordering As fence_async_shared().
__device__ __forceinline__ void fence_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// As fence_async_shared(), for all memory that the TMA can access.
/// @ptx `fence.proxy.async`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Each thread that has written such data.
/// @ordering As fence_async_shared().
__device__ __forceinline__ void fence_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

/// Sets the address of the tensor in a map in shared memory.
/// @param shared the map's shared-memory address, a multiple of 128
/// @param address of the tensor, a multiple of 16
/// @ptx `tensormap.replace.tile.global_address.shared::cta.b1024.b64`
/// @needs PTX ISA 8.3, sm_90a or sm_100f
/// @calledby One thread.
/// @ordering Call it before tensormap_publish(), with __syncwarp() between the two.
__device__ __forceinline__ void tensormap_replace_address(unsigned shared,
                                                          unsigned long long address) {
  asm volatile(
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared),
      "l"(address)
      : "memory");
}

/// Copies a map from shared to global memory and releases it to the GPU.
/// @param global where the map goes, a multiple of 128
/// @param shared the map's shared-memory address, a multiple of 128
/// @ptx `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned`
/// @needs PTX ISA 8.3, sm_90
/// @calledby All threads of a converged warp.
/// @ordering A thread that uses the map first waits until the map has been published, for example
/// on a flag, and then calls tensormap_acquire().
__device__ __forceinline__ void tensormap_publish(void* global, unsigned shared) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
      " [%0], [%1], 128;" ::"l"(global),
      "r"(shared)
      : "memory");
}

/// Makes a map that a kernel has written to global memory usable.
/// @param map its address, a multiple of 128
/// @ptx `fence.proxy.tensormap::generic.acquire.gpu`
/// @needs PTX ISA 8.3, sm_90
/// @calledby Each thread that uses the map. A map that is a kernel parameter does not need this
/// call.
/// @ordering Call it after the wait that tells the thread that the map was published, and before
/// the thread's first copy through the map.
__device__ __forceinline__ void tensormap_acquire(const TensorMapParam* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_FENCE_CUH
