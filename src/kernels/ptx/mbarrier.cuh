// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared-memory barriers that count arrivals and bytes. Addresses are shared-state-space ones.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the copy engine and to the cluster.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(u32 barrier) {
  delay_here();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
  delay_here();
}

/// Arrives on the barrier at the same offset in another block of the cluster.
__device__ __forceinline__ void mbarrier_arrive_remote(u32 barrier, u32 rank) {
  delay_here();
  asm volatile(
      "{\n\t.reg .b32 remote;\n\t"
      "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}" ::"r"(barrier),
      "r"(rank)
      : "memory");
  delay_here();
}

__device__ __forceinline__ void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  delay_here();
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  delay_here();
}

/// Arrives once the thread's asynchronous copies (async_copy.cuh) so far have landed; counts as one
/// of the arrivals that the barrier was made for.
__device__ __forceinline__ void mbarrier_arrive_copies(u32 barrier) {
  delay_here();
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
  delay_here();
}

__device__ __forceinline__ bool mbarrier_try_wait(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// Whether the phase is over already: as mbarrier_try_wait(), without waiting for a while.
__device__ __forceinline__ bool mbarrier_test(u32 barrier, u32 parity) {
  u32 done;
  delay_here();
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity) {
  delay_here();
  while (!mbarrier_try_wait(barrier, parity)) {
  }
  delay_here();
}

}  // namespace tw::ptx
