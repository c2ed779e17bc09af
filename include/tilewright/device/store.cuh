// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_STORE_CUH
#define TILEWRIGHT_DEVICE_STORE_CUH
/// @file store.cuh
/// Stores of boxes through tensor maps, from shared to global memory, and the groups through which
/// a thread waits for its stores and reductions. Stores have these parameters:
/// - `map`: address of the 128 bytes of a tensor map, in the kernel's parameters or in global
///   memory
/// - `shared`: source of the box, with the alignment that load.cuh describes
/// Coordinates are in elements of the tensor; a function takes as many as the map has dimensions.
/// They must not be negative.

#include <tilewright/device/delay.cuh>
#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Stores a box through a tiled map. Elements outside the tensor are not written.
/// @param map the tensor map
/// @param shared source of the box
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.tile.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier that precedes
/// the store. The store belongs to the thread's current group. store_commit() closes the group.
/// After store_wait_read() shared memory may be overwritten; after store_wait() the tensor has been
/// written.
__device__ __forceinline__ void store_tile(const TensorMapParam* map, unsigned shared, int x) {
  asm volatile(
      "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group"
      " [%0, {%2}], [%1];" ::"l"(map),
      "r"(shared), "r"(x)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile(const TensorMapParam* map, unsigned shared, int x,
                                           int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile(const TensorMapParam* map, unsigned shared, int x, int y,
                                           int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile(const TensorMapParam* map, unsigned shared, int x, int y,
                                           int z, int u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile(const TensorMapParam* map, unsigned shared, int x, int y,
                                           int z, int u, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

/// As store_tile(), with a cache policy.
/// @param map the tensor map
/// @param shared source of the box
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.tile.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier that precedes
/// the store. The store belongs to the thread's current group. store_commit() closes the group.
/// After store_wait_read() shared memory may be overwritten; after store_wait() the tensor has been
/// written.
__device__ __forceinline__ void store_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2}], [%1], %3;" ::"l"(map),
      "r"(shared), "r"(x), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                int y, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3}], [%1], %4;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                int y, int z, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                int y, int z, int u, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                int y, int z, int u, int v,
                                                unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
      "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy)
      : "memory");
}

/// Stores four rows of a matrix by number, through a map of rank 2 whose box is one row. The rows
/// are consecutive in shared memory, at a distance of one box. A row past the end of the tensor is
/// not written; with a negative number the hardware aborts the kernel.
/// @param map the tensor map
/// @param shared source of the rows
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @ptx `cp.async.bulk.tensor.2d` with `.global.shared::cta.tile::scatter4.bulk_group`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows, which also commits and waits.
/// @ordering As store_tile().
__device__ __forceinline__ void store_scatter4(const TensorMapParam* map, unsigned shared,
                                               int column, int row0, int row1, int row2, int row3) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(shared), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3)
      : "memory");
}

/// As store_scatter4(), with a cache policy.
/// @param map the tensor map
/// @param shared source of the rows
/// @param column of the first element of each row
/// @param row0,row1,row2,row3 numbers of the four rows
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor.2d` with
/// `.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.6, sm_100a; with PTX ISA 8.8 also sm_100f
/// @calledby One thread for each four rows, which also commits and waits.
/// @ordering As store_tile().
__device__ __forceinline__ void store_scatter4_hint(const TensorMapParam* map, unsigned shared,
                                                    int column, int row0, int row1, int row2,
                                                    int row3, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
      "r"(shared), "r"(column), "r"(row0), "r"(row1), "r"(row2), "r"(row3), "l"(policy)
      : "memory");
}

/// Closes a group of the stores and reductions that the thread has issued since the last call.
/// @ptx `cp.async.bulk.commit_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that issued them.
/// @ordering Call it after the stores and reductions, and before the wait.
__device__ __forceinline__ void store_commit() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Waits until all but the thread's last kPending groups have read their shared memory.
/// @ptx `cp.async.bulk.wait_group.read`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that committed the groups.
/// @ordering After the call this thread may overwrite that shared memory; other threads may do so
/// after a barrier.
template <int kPending>
__device__ __forceinline__ void store_wait_read() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
  TILEWRIGHT_DELAY();
}

/// Waits until all but the thread's last kPending groups are complete, including their writes.
/// @ptx `cp.async.bulk.wait_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that committed the groups.
/// @ordering After the call this thread sees the writes. The next kernel in the stream sees them
/// even without it.
template <int kPending>
__device__ __forceinline__ void store_wait() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
  TILEWRIGHT_DELAY();
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_STORE_CUH
