// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor boxes of any rank with a cache policy (cache_policy.h).

#include "kernels/ptx/tma.cuh"

namespace tw::ptx {

__device__ __forceinline__ void load_3d_hint(u32 shared, const KernelMap* map, u32 barrier, i32 x,
                                             i32 y, i32 z, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void load_4d_hint(u32 shared, const KernelMap* map, u32 barrier, i32 x,
                                             i32 y, i32 z, i32 u, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void load_5d_hint(u32 shared, const KernelMap* map, u32 barrier, i32 x,
                                             i32 y, i32 z, i32 u, i32 v, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_2d_hint(const KernelMap* map, u32 shared, i32 x, i32 y,
                                              u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3}], [%1], %4;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_3d_hint(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z,
                                              u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_4d_hint(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z,
                                              i32 u, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_5d_hint(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z,
                                              i32 u, i32 v, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy)
      : "memory");
}

template <int kRank>
__device__ __forceinline__ void load_box_hint(u32 shared, const KernelMap* map, u32 barrier,
                                              const i32 (&at)[kRank], u64 policy) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) load_2d_hint(shared, map, barrier, at[0], at[1], policy);
  if constexpr (kRank == 3) load_3d_hint(shared, map, barrier, at[0], at[1], at[2], policy);
  if constexpr (kRank == 4) load_4d_hint(shared, map, barrier, at[0], at[1], at[2], at[3], policy);
  if constexpr (kRank == 5)
    load_5d_hint(shared, map, barrier, at[0], at[1], at[2], at[3], at[4], policy);
}

template <int kRank>
__device__ __forceinline__ void store_box_hint(const KernelMap* map, u32 shared,
                                               const i32 (&at)[kRank], u64 policy) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) store_2d_hint(map, shared, at[0], at[1], policy);
  if constexpr (kRank == 3) store_3d_hint(map, shared, at[0], at[1], at[2], policy);
  if constexpr (kRank == 4) store_4d_hint(map, shared, at[0], at[1], at[2], at[3], policy);
  if constexpr (kRank == 5) store_5d_hint(map, shared, at[0], at[1], at[2], at[3], at[4], policy);
}

}  // namespace tw::ptx
