// SPDX-License-Identifier: Apache-2.0
#pragma once
// The copy engine: tensor boxes and one-dimensional bulk copies, both ways, and prefetches.
// `shared` and `barrier` are shared-state-space addresses, coordinates innermost first.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/cache_policy.h"

namespace tw::ptx {

__device__ __forceinline__ void prefetch_map(const KernelMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Makes ordinary writes to shared memory visible to the copy engine and the tensor cores.
__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void load_2d(u32 shared, const KernelMap* map, u32 barrier, i32 x,
                                        i32 y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void load_2d_hint(u32 shared, const KernelMap* map, u32 barrier, i32 x,
                                             i32 y, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

/// The box lands at the same offset in each block of `mask`, and counts on each one's barrier.
__device__ __forceinline__ void load_2d_multicast(u32 shared, const KernelMap* map, u32 barrier,
                                                  i32 x, i32 y, u32 mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

__device__ __forceinline__ void load_3d(u32 shared, const KernelMap* map, u32 barrier, i32 x, i32 y,
                                        i32 z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void load_3d_multicast(u32 shared, const KernelMap* map, u32 barrier,
                                                  i32 x, i32 y, i32 z, u32 mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

__device__ __forceinline__ void store_2d(const KernelMap* map, u32 shared, i32 x, i32 y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void store_3d(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          map),
      "r"(shared), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// Adds the box to the tensor, in the map's type. f32 keeps subnormals here.
__device__ __forceinline__ void store_add_2d(const KernelMap* map, u32 shared, i32 x, i32 y) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], "
      "[%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y)
      : "memory");
}

__device__ __forceinline__ void prefetch_2d(const KernelMap* map, i32 x, i32 y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(x),
               "r"(y)
               : "memory");
}

/// The same with a cache policy (cache_policy.h).
__device__ __forceinline__ void prefetch_2d_hint(const KernelMap* map, i32 x, i32 y, u64 policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint [%0, {%1, %2}], %3;" ::"l"(
          map),
      "r"(x), "r"(y), "l"(policy)
      : "memory");
}

/// `bytes` and both addresses are multiples of 16, here and below.
__device__ __forceinline__ void load_bulk(u32 shared, u64 global, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void store_bulk(u64 global, u32 shared, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared), "r"(bytes)
               : "memory");
}

/// The same with a cache policy (cache_policy.h).
__device__ __forceinline__ void load_bulk_hint(u32 shared, u64 global, u32 bytes, u32 barrier,
                                               u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_bulk_hint(u64 global, u32 shared, u32 bytes, u64 policy) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
          global),
      "r"(shared), "r"(bytes), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void prefetch_bulk(u64 global, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}

__device__ __forceinline__ void prefetch_bulk_hint(u64 global, u32 bytes, u64 policy) {
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(global),
               "r"(bytes), "l"(policy)
               : "memory");
}

/// Closes the group of bulk stores that the thread issued since the last call.
__device__ __forceinline__ void store_commit() {
  delay_here();
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  delay_here();
}

/// Waits until all but the last kPending groups have read their shared memory.
template <int kPending>
__device__ __forceinline__ void store_wait_read() {
  delay_here();
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
  delay_here();
}

/// Waits until all but the last kPending groups are complete: their writes are made.
template <int kPending>
__device__ __forceinline__ void store_wait() {
  delay_here();
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
  delay_here();
}

}  // namespace tw::ptx
