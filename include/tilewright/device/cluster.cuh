// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_CLUSTER_CUH
#define TILEWRIGHT_DEVICE_CLUSTER_CUH
/// @file cluster.cuh
/// Shared-memory addresses, clusters of blocks, the election of one lane, and dependent launch.

#include <tilewright/device/delay.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Converts a pointer to the shared-memory address that the functions of this header take.
/// @param pointer into this block's shared memory
/// @ptx `cvta.to.shared.u64`
/// @needs PTX ISA 2.3, sm_90
/// @calledby Any thread.
/// @ordering None needed.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// The block's number in its cluster.
/// @ptx `mov.u32` of `%cluster_ctarank`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering None needed.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// The number of blocks in the cluster; 1 if the launch has no clusters.
/// @ptx `mov.u32` of `%cluster_nctarank`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering None needed.
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

/// The cluster's number in the grid, along x.
/// @ptx `mov.u32` of `%clusterid.x`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering None needed.
__device__ __forceinline__ unsigned cluster_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  return id;
}

/// The address of the same location in the shared memory of another block of the cluster.
/// @param shared shared-memory address in this block
/// @param rank the other block, see cluster_rank()
/// @ptx `mapa.shared::cluster.u32`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering The other block must have started before its memory is used, and must not have ended.
/// cluster_arrive() and cluster_wait() at both ends of the kernel ensure that.
__device__ __forceinline__ unsigned cluster_address(unsigned shared, unsigned rank) {
  unsigned remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
  return remote;
}

/// Arrives at the barrier of the cluster and releases the thread's writes.
/// @ptx `barrier.cluster.arrive.release.aligned`
/// @needs PTX ISA 8.0, sm_90
/// @calledby All threads of the cluster, the lanes of a warp converged. Each then calls
/// cluster_wait() once.
/// @ordering Threads that return from cluster_wait() see what this thread did before.
__device__ __forceinline__ void cluster_arrive() {
  TILEWRIGHT_DELAY();
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Arrives at the barrier of the cluster without a release, which is faster. Use it in threads
/// whose writes no other thread reads after the barrier.
/// @ptx `barrier.cluster.arrive.relaxed.aligned`
/// @needs PTX ISA 8.0, sm_90
/// @calledby As cluster_arrive().
/// @ordering None. Barriers that fence_mbarrier_init() has made visible may be used after
/// cluster_wait().
__device__ __forceinline__ void cluster_arrive_relaxed() {
  TILEWRIGHT_DELAY();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Waits until all threads of the cluster have arrived at its barrier.
/// @ptx `barrier.cluster.wait.acquire.aligned`
/// @needs PTX ISA 8.0, sm_90
/// @calledby All threads of the cluster that have arrived, the lanes of a warp converged.
/// @ordering An acquire: the thread sees what the threads that called cluster_arrive() did before.
__device__ __forceinline__ void cluster_wait() {
  TILEWRIGHT_DELAY();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Returns true in one lane of a converged warp, the same lane each time, and false in the others.
/// @ptx `elect.sync`
/// @needs PTX ISA 8.0, sm_90
/// @calledby All lanes of a converged warp.
/// @ordering None.
__device__ __forceinline__ bool elect_one() {
  unsigned elected;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "elect.sync _|p, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(elected));
  return elected != 0;
}

/// Waits until the predecessor grids have ended and their writes are visible. Does nothing if the
/// launch has no programmatic dependency.
/// @ptx `griddepcontrol.wait`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Each thread, before it accesses memory that a predecessor grid writes, and before it
/// writes memory that a predecessor grid reads. A thread that does so only after a barrier of the
/// block may leave the call to another thread.
/// @ordering An acquire of everything that the predecessor grids have written.
__device__ __forceinline__ void grid_dependency_wait() {
  TILEWRIGHT_DELAY();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Allows the dependent grid of a programmatic launch to start once all blocks of this grid have
/// called this function or ended.
/// @ptx `griddepcontrol.launch_dependents`
/// @needs PTX ISA 7.8, sm_90
/// @calledby At least one thread of each block.
/// @ordering None: the dependent grid sees this grid's writes after its own grid_dependency_wait().
__device__ __forceinline__ void grid_dependency_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_CLUSTER_CUH
