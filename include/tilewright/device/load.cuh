// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_LOAD_CUH
#define TILEWRIGHT_DEVICE_LOAD_CUH
/// @file load.cuh
/// Loads of boxes through tensor maps, from global to shared memory. They have these parameters:
/// - `shared`: destination of the box, a shared-memory address and a multiple of 128;
///   swizzled_offset() holds only if it is a multiple of swizzle_period()
/// - `map`: address of the 128 bytes of a tensor map, in the kernel's parameters or in global
///   memory
/// - `barrier`: shared-memory address of the barrier on which the TMA counts the box's bytes,
///   including those outside the tensor
/// Coordinates are in elements of the tensor; a function takes as many as the map has dimensions.

#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Loads a box through a tiled map. Elements outside the tensor get the map's fill value.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @ptx `cp.async.bulk.tensor` with `.shared::cluster.global.tile.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_tile(unsigned shared, const TensorMapParam* map,
                                          unsigned barrier, int x) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile(unsigned shared, const TensorMapParam* map,
                                          unsigned barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile(unsigned shared, const TensorMapParam* map,
                                          unsigned barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile(unsigned shared, const TensorMapParam* map,
                                          unsigned barrier, int x, int y, int z, int u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile(unsigned shared, const TensorMapParam* map,
                                          unsigned barrier, int x, int y, int z, int u, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

/// As load_tile(), with a cache policy.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_tile_hint(unsigned shared, const TensorMapParam* map,
                                               unsigned barrier, int x, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3}], [%2], %4;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_hint(unsigned shared, const TensorMapParam* map,
                                               unsigned barrier, int x, int y,
                                               unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_hint(unsigned shared, const TensorMapParam* map,
                                               unsigned barrier, int x, int y, int z,
                                               unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_hint(unsigned shared, const TensorMapParam* map,
                                               unsigned barrier, int x, int y, int z, int u,
                                               unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_hint(unsigned shared, const TensorMapParam* map,
                                               unsigned barrier, int x, int y, int z, int u, int v,
                                               unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy)
      : "memory");
}

/// As load_tile(), into several blocks of the cluster at once.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering As load_tile(), in each block that receives the box. Each of these blocks expects the
/// bytes on its own barrier, and tells the issuing block when it has read the previous bytes, for
/// example with mbarrier_arrive_remote().
__device__ __forceinline__ void load_tile_multicast(unsigned shared, const TensorMapParam* map,
                                                    unsigned barrier, int x, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3}], [%2], %4;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast(unsigned shared, const TensorMapParam* map,
                                                    unsigned barrier, int x, int y, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast(unsigned shared, const TensorMapParam* map,
                                                    unsigned barrier, int x, int y, int z,
                                                    unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast(unsigned shared, const TensorMapParam* map,
                                                    unsigned barrier, int x, int y, int z, int u,
                                                    unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast(unsigned shared, const TensorMapParam* map,
                                                    unsigned barrier, int x, int y, int z, int u,
                                                    int v, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v),
      "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// As load_tile_multicast(), with a cache policy.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering As load_tile(), in each block that receives the box. Each of these blocks expects the
/// bytes on its own barrier, and tells the issuing block when it has read the previous bytes, for
/// example with mbarrier_arrive_remote().
__device__ __forceinline__ void load_tile_multicast_hint(unsigned shared, const TensorMapParam* map,
                                                         unsigned barrier, int x, unsigned mask,
                                                         unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3}], [%2], %4, %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast_hint(unsigned shared, const TensorMapParam* map,
                                                         unsigned barrier, int x, int y,
                                                         unsigned mask, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast_hint(unsigned shared, const TensorMapParam* map,
                                                         unsigned barrier, int x, int y, int z,
                                                         unsigned mask, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(static_cast<unsigned short>(mask)),
      "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast_hint(unsigned shared, const TensorMapParam* map,
                                                         unsigned barrier, int x, int y, int z,
                                                         int u, unsigned mask,
                                                         unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u),
      "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_tile_multicast_hint(unsigned shared, const TensorMapParam* map,
                                                         unsigned barrier, int x, int y, int z,
                                                         int u, int v, unsigned mask,
                                                         unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8, %9;" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v),
      "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// Loads four rows of a matrix by number, through a map of rank 2 whose box is one row. The rows
/// are consecutive in shared memory, at a distance of one box. A row outside the tensor gets the
/// map's fill value.
/// @param shared destination of the rows
/// @param map the tensor map
/// @param barrier on which their bytes complete
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @ptx `cp.async.bulk.tensor.2d` with
/// `.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_gather4(unsigned shared, const TensorMapParam* map,
                                             unsigned barrier, int column, int row0, int row1,
                                             int row2, int row3) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3)
      : "memory");
}

/// As load_gather4(), with a cache policy.
/// @param shared destination of the rows
/// @param map the tensor map
/// @param barrier on which their bytes complete
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor.2d` with
/// `.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.L2::cache_hint`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_gather4_hint(unsigned shared, const TensorMapParam* map,
                                                  unsigned barrier, int column, int row0, int row1,
                                                  int row2, int row3, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3), "l"(policy)
      : "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_LOAD_CUH
