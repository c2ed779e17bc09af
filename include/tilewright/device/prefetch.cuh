// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_PREFETCH_CUH
#define TILEWRIGHT_DEVICE_PREFETCH_CUH
/// @file prefetch.cuh
/// Prefetches of tensor maps, boxes and bytes into the L2 cache. load.cuh describes the parameters.
/// A prefetch is a hint: the hardware drops some prefetches if there are too many.

#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Brings a tensor map into the TMA's descriptor cache.
/// @param map address of the 128 bytes of a tensor map
/// @ptx `prefetch.tensormap`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread, early in the kernel.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_map(const TensorMapParam* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Prefetches a box of a tiled map.
/// @param map the tensor map
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @ptx `cp.async.bulk.prefetch.tensor` with `.L2.global.tile`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_tile(const TensorMapParam* map, int x) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.1d.L2.global.tile"
      " [%0, {%1}];" ::"l"(map),
      "r"(x)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile(const TensorMapParam* map, int x, int y) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile"
      " [%0, {%1, %2}];" ::"l"(map),
      "r"(x), "r"(y)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile(const TensorMapParam* map, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global.tile"
      " [%0, {%1, %2, %3}];" ::"l"(map),
      "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile(const TensorMapParam* map, int x, int y, int z,
                                              int u) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.tile"
      " [%0, {%1, %2, %3, %4}];" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile(const TensorMapParam* map, int x, int y, int z, int u,
                                              int v) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.5d.L2.global.tile"
      " [%0, {%1, %2, %3, %4, %5}];" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

/// As prefetch_tile(), with a cache policy.
/// @param map the tensor map
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.prefetch.tensor` with `.L2.global.tile.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_tile_hint(const TensorMapParam* map, int x,
                                                   unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.1d.L2.global.tile.L2::cache_hint"
      " [%0, {%1}], %2;" ::"l"(map),
      "r"(x), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile_hint(const TensorMapParam* map, int x, int y,
                                                   unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint"
      " [%0, {%1, %2}], %3;" ::"l"(map),
      "r"(x), "r"(y), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile_hint(const TensorMapParam* map, int x, int y, int z,
                                                   unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global.tile.L2::cache_hint"
      " [%0, {%1, %2, %3}], %4;" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile_hint(const TensorMapParam* map, int x, int y, int z,
                                                   int u, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.tile.L2::cache_hint"
      " [%0, {%1, %2, %3, %4}], %5;" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_tile_hint(const TensorMapParam* map, int x, int y, int z,
                                                   int u, int v, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.5d.L2.global.tile.L2::cache_hint"
      " [%0, {%1, %2, %3, %4, %5}], %6;" ::"l"(map),
      "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy)
      : "memory");
}

/// Prefetches four rows of a matrix by number, see load_gather4().
/// @param map the tensor map
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @ptx `cp.async.bulk.prefetch.tensor.2d` with `.L2.global.tile::gather4`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_gather4(const TensorMapParam* map, int column, int row0,
                                                 int row1, int row2, int row3) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4"
      " [%0, {%1, %2, %3, %4, %5}];" ::"l"(map),
      "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3)
      : "memory");
}

/// As prefetch_gather4(), with a cache policy.
/// @param map the tensor map
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.prefetch.tensor.2d` with `.L2.global.tile::gather4.L2::cache_hint`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_gather4_hint(const TensorMapParam* map, int column,
                                                      int row0, int row1, int row2, int row3,
                                                      unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::cache_hint"
      " [%0, {%1, %2, %3, %4, %5}], %6;" ::"l"(map),
      "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3), "l"(policy)
      : "memory");
}

/// Prefetches consecutive bytes.
/// @param global the first byte's address, a multiple of 16
/// @param bytes a multiple of 16
/// @ptx `cp.async.bulk.prefetch.L2.global`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_bulk(const void* global, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}

/// As prefetch_bulk(), with a cache policy.
/// @param global the first byte's address, a multiple of 16
/// @param bytes a multiple of 16
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.prefetch.L2.global.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_bulk_hint(const void* global, unsigned bytes,
                                                   unsigned long long policy) {
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(global),
               "r"(bytes), "l"(policy)
               : "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_PREFETCH_CUH
