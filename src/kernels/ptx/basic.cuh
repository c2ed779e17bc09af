// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses, identities and barriers of threads. One instruction a function.

#include "kernels/arguments.h"
#include "kernels/ptx/delay.cuh"

namespace tw::ptx {

/// Shared-memory address of a pointer, as the shared state space counts.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ u32 lane_id() {
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// A bit for each lane of a lower number.
__device__ __forceinline__ u32 lanes_below() {
  u32 mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/// The same, read where it stands and not kept from before.
__device__ __forceinline__ u32 lane_id_again() {
  u32 lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// threadIdx.x, likewise.
__device__ __forceinline__ u32 thread_id_again() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/// blockIdx.x, likewise.
__device__ __forceinline__ u32 block_id_again() {
  u32 block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

/// gridDim.x, likewise.
__device__ __forceinline__ u32 grid_size_again() {
  u32 blocks;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return blocks;
}

/// The same value, not to be made anew from here on.
__device__ __forceinline__ u32 kept(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// The same value, behind a move that stays where it stands: branches round several of them remain.
__device__ __forceinline__ float moved(float value) {
  float out;
  asm volatile("mov.b32 %0, %1;" : "=f"(out) : "f"(value));
  return out;
}

/// The same value in every lane, known to the compiler as such.
__device__ __forceinline__ u32 warp_uniform(u32 value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

/// To some two units of the last place.
__device__ __forceinline__ float reciprocal(float x) {
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ u32 cluster_size() {
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

/// Address of the same place in the shared memory of another block of the cluster.
__device__ __forceinline__ u32 cluster_address(u32 shared, u32 rank) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
  return remote;
}

__device__ __forceinline__ float load_cluster(u32 remote) {
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(remote) : "memory");
  return v;
}

__device__ __forceinline__ u32 cluster_id() {
  u32 id;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  return id;
}

/// Stores into a block of the cluster, and counts the bytes on a barrier there once they are seen.
__device__ __forceinline__ void store_async_v4(u32 remote, const float (&v)[4], u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(remote),
      "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void store_async_v2(u32 remote, float x, float y, u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
          "r"(remote),
      "f"(x), "f"(y), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void store_async(u32 remote, float x, u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(
          remote),
      "f"(x), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void cluster_arrive() {
  delay_here();
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  delay_here();
}

/// The same for threads whose writes nobody behind the barrier reads: without waiting until they
/// are seen by all the chip, which is what a release takes.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  delay_here();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  delay_here();
}

__device__ __forceinline__ void cluster_wait() {
  delay_here();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  delay_here();
}

/// All threads of the block, and of a converged warp, with their accesses to shared memory.
__device__ __forceinline__ void sync_block() {
  delay_here();
  __syncthreads();
  delay_here();
}

__device__ __forceinline__ void sync_warp() {
  delay_here();
  __syncwarp();
  delay_here();
}

/// Barrier `id` (1 to 15; 0 is __syncthreads) among `threads` threads of the block.
__device__ __forceinline__ void named_barrier(u32 id, u32 threads) {
  delay_here();
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
  delay_here();
}

/// Counts as arrived at a named barrier without waiting for it.
__device__ __forceinline__ void named_barrier_arrive(u32 id, u32 threads) {
  delay_here();
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
  delay_here();
}

/// One lane of a converged warp; the same one each time.
__device__ __forceinline__ bool elect_one() {
  u32 elected;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "elect.sync _|p, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(elected));
  return elected != 0;
}

template <int kRegisters>
__device__ __forceinline__ void set_max_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void set_max_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Waits until the grids this one depends on have finished (no-op in an ordinary launch).
__device__ __forceinline__ void grid_dependency_wait() {
  delay_here();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  delay_here();
}

/// Lets a dependent grid be launched.
__device__ __forceinline__ void grid_dependency_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// At the top of a kernel that takes hardly longer than its launch: its blocks may be there before
/// the grid in front has finished, and those of the next one before it has itself.
__device__ __forceinline__ void grid_dependency_wait_and_launch() {
  grid_dependency_wait();
  grid_dependency_launch();
}

}  // namespace tw::ptx
