// SPDX-License-Identifier: Apache-2.0
#pragma once
// cp.async: asynchronous copies of 4, 8 or 16 bytes from global to shared memory.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// Copies `bytes` of kBytes bytes and zero-fills the rest. Both addresses are multiples of kBytes.
template <int kBytes>
__device__ __forceinline__ void async_copy(u32 shared, u64 global, u32 bytes) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(kBytes), "r"(bytes)
                 : "memory");
}

/// Like async_copy, with a cache policy.
template <int kBytes>
__device__ __forceinline__ void async_copy_hint(u32 shared, u64 global, u32 bytes, u64 policy) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(shared),
                 "l"(global), "r"(bytes), "l"(policy)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;" ::"r"(shared),
                 "l"(global), "n"(kBytes), "r"(bytes), "l"(policy)
                 : "memory");
}

__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until all but the thread's last kPending groups have landed.
template <int kPending>
__device__ __forceinline__ void async_copy_wait() {
  delay_here();
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  delay_here();
}

/// Waits until all of the thread's copies have landed, also those that belong to no group.
__device__ __forceinline__ void async_copy_wait_all() {
  delay_here();
  asm volatile("cp.async.wait_all;" ::: "memory");
  delay_here();
}

/// Arrives when the thread's copies so far have landed. This is one of the arrivals that the
/// barrier was initialized for.
__device__ __forceinline__ void mbarrier_arrive_copies(u32 barrier) {
  delay_here();
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
  delay_here();
}

}  // namespace tw::ptx
