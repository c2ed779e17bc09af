// SPDX-License-Identifier: Apache-2.0
#pragma once
// All kernels include this: the public header for kernel authors, and functions of mostly one PTX
// instruction for thread identities, distributed shared memory, barriers and register limits.

#include "kernels/ptx/delay.cuh"
// The delays come first: the public header calls them.
#include <tilewright/device.cuh>

namespace tw::ptx {

// Kernels call the public header's functions as ptx::name, too.
using namespace tilewright;

/// Kernel arguments hold global addresses as integers.
__device__ __forceinline__ void* global_pointer(u64 address) {
  return reinterpret_cast<void*>(address);
}

__device__ __forceinline__ u32 lane_id() {
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// Mask of the lanes below the calling one.
__device__ __forceinline__ u32 lanes_below() {
  u32 mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/// lane_id(), read again at this place, so that no register must hold it until here.
__device__ __forceinline__ u32 reread_lane_id() {
  u32 lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// threadIdx.x, read again at this place for the same reason. So are the next two.
__device__ __forceinline__ u32 reread_thread_id() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/// blockIdx.x, read again at this place.
__device__ __forceinline__ u32 reread_block_id() {
  u32 block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}

/// gridDim.x, read again at this place.
__device__ __forceinline__ u32 reread_grid_size() {
  u32 blocks;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
  return blocks;
}

/// Returns the same value, about which the compiler then knows nothing. So it keeps the register
/// instead of recomputing the value.
__device__ __forceinline__ u32 opaque(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Returns the value by a move instruction that the compiler does not move or remove, so that a
/// branch around several of these instructions remains a branch.
__device__ __forceinline__ float moved(float value) {
  float out;
  asm volatile("mov.b32 %0, %1;" : "=f"(out) : "f"(value));
  return out;
}

/// Lane 0's value, which the compiler then knows to be uniform in the warp.
__device__ __forceinline__ u32 warp_uniform(u32 value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

/// 1 / x with an error of about 2 ulp.
__device__ __forceinline__ float reciprocal(float x) {
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

__device__ __forceinline__ float load_cluster(u32 remote) {
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(remote) : "memory");
  return v;
}

__device__ __forceinline__ u32 load_cluster_u32(u32 remote) {
  u32 v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(remote) : "memory");
  return v;
}

__device__ __forceinline__ void store_cluster_u16(u32 remote, u32 value) {
  asm volatile("st.shared::cluster.u16 [%0], %1;" ::"r"(remote),
               "h"(static_cast<unsigned short>(value))
               : "memory");
}

/// Stores to a CTA of the cluster; completes the bytes on a barrier there when they are visible.
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

/// Barrier `id` (1 to 15; 0 is __syncthreads) among `threads` threads of the CTA.
__device__ __forceinline__ void named_barrier(u32 id, u32 threads) {
  delay_here();
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
  delay_here();
}

/// Arrives at a named barrier without waiting.
__device__ __forceinline__ void named_barrier_arrive(u32 id, u32 threads) {
  delay_here();
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
  delay_here();
}

template <int kRegisters>
__device__ __forceinline__ void set_max_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void set_max_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// For the start of a kernel that takes hardly longer than its launch: waits for the predecessor
/// grid, then lets the dependent grid launch.
__device__ __forceinline__ void grid_dependency_wait_and_launch() {
  grid_dependency_wait();
  grid_dependency_launch();
}

}  // namespace tw::ptx
