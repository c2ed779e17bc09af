// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_STORE_CUH
#define TILEWRIGHT_DEVICE_STORE_CUH
/// @file store.cuh
/// Stores of boxes through tensor maps, from shared into global memory, and the groups by which a
/// thread waits for its stores and reductions. Parameters of all stores:
/// - `map`: address of the 128 bytes of a tensor map, in the kernel's parameters or in global
/// memory
/// - `shared`: where the box lies, see load.cuh
/// Coordinates count elements of the tensor; a function takes as many as the map has dimensions.
/// None of them may be negative.

#include <tilewright/device/delay.cuh>
#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Stores a box through a tiled map. What lies outside the tensor is not written.
/// @param map the tensor map
/// @param shared where the box lies
/// @param x the box's first element in dimension 0, `y` to `v` those in the next: as many as the
/// map has dimensions
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.tile.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier behind which
/// the store is issued. The store belongs to the thread's current group: store_commit() closes it,
/// store_wait_read() says when shared memory may be written again, store_wait() when the tensor
/// has been written.
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
/// @param shared where the box lies
/// @param x the box's first element in dimension 0, `y` to `v` those in the next: as many as the
/// map has dimensions
/// @param policy of the L2: kEvictFirst, evict_last_policy(0.5f) or the like
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.tile.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier behind which
/// the store is issued. The store belongs to the thread's current group: store_commit() closes it,
/// store_wait_read() says when shared memory may be written again, store_wait() when the tensor
/// has been written.
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
/// lie behind one another in shared memory, a box's bytes apart. A row behind the tensor is not
/// written; a negative number stops the kernel.
/// @param map the tensor map
/// @param shared where the rows lie
/// @param column of the first element
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
/// @param shared where the rows lie
/// @param column of the first element
/// @param row0,row1,row2,row3 numbers of the four rows
/// @param policy of the L2: kEvictFirst, evict_last_policy(0.5f) or the like
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

/// Closes the group of the stores and reductions that the thread has issued since the last call.
/// @ptx `cp.async.bulk.commit_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that issued them.
/// @ordering Behind them, and before the wait.
__device__ __forceinline__ void store_commit() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  TILEWRIGHT_DELAY();
}

/// Waits until all but the thread's last kPending groups have read their shared memory.
/// @ptx `cp.async.bulk.wait_group.read`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that committed the groups.
/// @ordering Behind it the thread, and others behind a barrier, may write that shared memory again.
template <int kPending>
__device__ __forceinline__ void store_wait_read() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
  TILEWRIGHT_DELAY();
}

/// Waits until all but the thread's last kPending groups are complete: their writes are made.
/// @ptx `cp.async.bulk.wait_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby The thread that committed the groups.
/// @ordering Behind it the thread sees the writes. The next kernel of the stream sees them in any
/// case.
template <int kPending>
__device__ __forceinline__ void store_wait() {
  TILEWRIGHT_DELAY();
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
  TILEWRIGHT_DELAY();
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_STORE_CUH
