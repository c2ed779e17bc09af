// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor boxes of ranks 3 to 5, and one call for any rank. Rank 2 is in tma.cuh.

#include "kernels/ptx/tma.cuh"

namespace tw::ptx {

__device__ __forceinline__ void load_3d(u32 shared, const KernelMap* map, u32 barrier, i32 x, i32 y,
                                        i32 z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void load_4d(u32 shared, const KernelMap* map, u32 barrier, i32 x, i32 y,
                                        i32 z, i32 u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

__device__ __forceinline__ void load_5d(u32 shared, const KernelMap* map, u32 barrier, i32 x, i32 y,
                                        i32 z, i32 u, i32 v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

__device__ __forceinline__ void store_3d(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
          map),
      "r"(shared), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void store_4d(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z,
                                         i32 u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

__device__ __forceinline__ void store_5d(const KernelMap* map, u32 shared, i32 x, i32 y, i32 z,
                                         i32 u, i32 v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

template <int kRank>
__device__ __forceinline__ void load_box(u32 shared, const KernelMap* map, u32 barrier,
                                         const i32 (&at)[kRank]) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) load_2d(shared, map, barrier, at[0], at[1]);
  if constexpr (kRank == 3) load_3d(shared, map, barrier, at[0], at[1], at[2]);
  if constexpr (kRank == 4) load_4d(shared, map, barrier, at[0], at[1], at[2], at[3]);
  if constexpr (kRank == 5) load_5d(shared, map, barrier, at[0], at[1], at[2], at[3], at[4]);
}

template <int kRank>
__device__ __forceinline__ void store_box(const KernelMap* map, u32 shared,
                                          const i32 (&at)[kRank]) {
  static_assert(kRank >= 2 && kRank <= 5, "tensor maps of these ranks have rows");
  if constexpr (kRank == 2) store_2d(map, shared, at[0], at[1]);
  if constexpr (kRank == 3) store_3d(map, shared, at[0], at[1], at[2]);
  if constexpr (kRank == 4) store_4d(map, shared, at[0], at[1], at[2], at[3]);
  if constexpr (kRank == 5) store_5d(map, shared, at[0], at[1], at[2], at[3], at[4]);
}

}  // namespace tw::ptx
