// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_IM2COL_CUH
#define TILEWRIGHT_DEVICE_IM2COL_CUH
/// @file im2col.cuh
/// Loads, stores and prefetches of columns of pixels through im2col maps. load.cuh and store.cuh
/// describe the parameters that tiled maps have too. A map has 3, 4 or 5 dimensions, channels first
/// and images last.

#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Loads a column through an im2col map.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @ptx `cp.async.bulk.tensor` with `.shared::cluster.global.im2col.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_im2col(unsigned shared, const TensorMapParam* map,
                                            unsigned barrier, int c, int w, int n,
                                            unsigned short offset_w) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2], {%6};" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(n), "h"(offset_w)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col(unsigned shared, const TensorMapParam* map,
                                            unsigned barrier, int c, int w, int h, int n,
                                            unsigned short offset_w, unsigned short offset_h) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col(unsigned shared, const TensorMapParam* map,
                                            unsigned barrier, int c, int w, int h, int d, int n,
                                            unsigned short offset_w, unsigned short offset_h,
                                            unsigned short offset_d) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(offset_d)
      : "memory");
}

/// As load_im2col(), with a cache policy.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering A thread may read the bytes after it has waited for the barrier's phase. If threads
/// have written the destination before, they call fence_async_shared() before the load is issued.
/// If they have only read it, a barrier between their reads and the load suffices.
__device__ __forceinline__ void load_im2col_hint(unsigned shared, const TensorMapParam* map,
                                                 unsigned barrier, int c, int w, int n,
                                                 unsigned short offset_w,
                                                 unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(n), "h"(offset_w), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_hint(unsigned shared, const TensorMapParam* map,
                                                 unsigned barrier, int c, int w, int h, int n,
                                                 unsigned short offset_w, unsigned short offset_h,
                                                 unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h),
      "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_hint(unsigned shared, const TensorMapParam* map,
                                                 unsigned barrier, int c, int w, int h, int d,
                                                 int n, unsigned short offset_w,
                                                 unsigned short offset_h, unsigned short offset_d,
                                                 unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(offset_d), "l"(policy)
      : "memory");
}

/// As load_im2col(), into several blocks of the cluster at once.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering As load_tile(), in each block that receives the box. Each of these blocks expects the
/// bytes on its own barrier, and tells the issuing block when it has read the previous bytes, for
/// example with mbarrier_arrive_remote().
__device__ __forceinline__ void load_im2col_multicast(unsigned shared, const TensorMapParam* map,
                                                      unsigned barrier, int c, int w, int n,
                                                      unsigned short offset_w, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(n), "h"(offset_w),
      "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_multicast(unsigned shared, const TensorMapParam* map,
                                                      unsigned barrier, int c, int w, int h, int n,
                                                      unsigned short offset_w,
                                                      unsigned short offset_h, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_multicast(unsigned shared, const TensorMapParam* map,
                                                      unsigned barrier, int c, int w, int h, int d,
                                                      int n, unsigned short offset_w,
                                                      unsigned short offset_h,
                                                      unsigned short offset_d, unsigned mask) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11;" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(offset_d), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// As load_im2col_multicast(), with a cache policy.
/// @param shared destination of the box
/// @param map the tensor map
/// @param barrier on which its bytes complete
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with
/// `.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box: every calling thread issues a load of its own.
/// @ordering As load_tile(), in each block that receives the box. Each of these blocks expects the
/// bytes on its own barrier, and tells the issuing block when it has read the previous bytes, for
/// example with mbarrier_arrive_remote().
__device__ __forceinline__ void load_im2col_multicast_hint(unsigned shared,
                                                           const TensorMapParam* map,
                                                           unsigned barrier, int c, int w, int n,
                                                           unsigned short offset_w, unsigned mask,
                                                           unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7, %8;" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(n), "h"(offset_w),
      "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_multicast_hint(
    unsigned shared, const TensorMapParam* map, unsigned barrier, int c, int w, int h, int n,
    unsigned short offset_w, unsigned short offset_h, unsigned mask, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9, %10;" ::
          "r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void load_im2col_multicast_hint(
    unsigned shared, const TensorMapParam* map, unsigned barrier, int c, int w, int h, int d, int n,
    unsigned short offset_w, unsigned short offset_h, unsigned short offset_d, unsigned mask,
    unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, "
      "%11, %12;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h),
      "h"(offset_d), "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// Stores a column through an im2col map.
/// @param map the tensor map
/// @param shared source of the box
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.im2col_no_offs.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier that precedes
/// the store. The store belongs to the thread's current group. store_commit() closes the group.
/// After store_wait_read() shared memory may be overwritten; after store_wait() the tensor has been
/// written.
__device__ __forceinline__ void store_im2col(const TensorMapParam* map, unsigned shared, int c,
                                             int w, int n) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group"
      " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(n)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_im2col(const TensorMapParam* map, unsigned shared, int c,
                                             int w, int h, int n) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
      " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(h), "r"(n)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_im2col(const TensorMapParam* map, unsigned shared, int c,
                                             int w, int h, int d, int n) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs.bulk_group"
      " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n)
      : "memory");
}

/// As store_im2col(), with a cache policy.
/// @param map the tensor map
/// @param shared source of the box
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.tensor` with `.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering Threads that wrote the box call fence_async_shared() before the barrier that precedes
/// the store. The store belongs to the thread's current group. store_commit() closes the group.
/// After store_wait_read() shared memory may be overwritten; after store_wait() the tensor has been
/// written.
__device__ __forceinline__ void store_im2col_hint(const TensorMapParam* map, unsigned shared, int c,
                                                  int w, int n, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(n), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_im2col_hint(const TensorMapParam* map, unsigned shared, int c,
                                                  int w, int h, int n, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(h), "r"(n), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void store_im2col_hint(const TensorMapParam* map, unsigned shared, int c,
                                                  int w, int h, int d, int n,
                                                  unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint"
      " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
      "r"(shared), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "l"(policy)
      : "memory");
}

/// Prefetches a column of an im2col map.
/// @param map the tensor map
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @ptx `cp.async.bulk.prefetch.tensor` with `.L2.global.im2col`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_im2col(const TensorMapParam* map, int c, int w, int n,
                                                unsigned short offset_w) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col"
      " [%0, {%1, %2, %3}], {%4};" ::"l"(map),
      "r"(c), "r"(w), "r"(n), "h"(offset_w)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_im2col(const TensorMapParam* map, int c, int w, int h,
                                                int n, unsigned short offset_w,
                                                unsigned short offset_h) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col"
      " [%0, {%1, %2, %3, %4}], {%5, %6};" ::"l"(map),
      "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_im2col(const TensorMapParam* map, int c, int w, int h,
                                                int d, int n, unsigned short offset_w,
                                                unsigned short offset_h, unsigned short offset_d) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.5d.L2.global.im2col"
      " [%0, {%1, %2, %3, %4, %5}], {%6, %7, %8};" ::"l"(map),
      "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h), "h"(offset_d)
      : "memory");
}

/// As prefetch_im2col(), with a cache policy.
/// @param map the tensor map
/// @param c,w,n start of the column: its first channel, pixel and image. Maps of four dimensions
/// also have `h`, and maps of five dimensions `h` and `d`, before `n`
/// @param offset_w offset of the filter's element along W; likewise `offset_h` and `offset_d`
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.prefetch.tensor` with `.L2.global.im2col.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box.
/// @ordering None. A prefetch has no effect that the kernel can observe.
__device__ __forceinline__ void prefetch_im2col_hint(const TensorMapParam* map, int c, int w, int n,
                                                     unsigned short offset_w,
                                                     unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col.L2::cache_hint"
      " [%0, {%1, %2, %3}], {%4}, %5;" ::"l"(map),
      "r"(c), "r"(w), "r"(n), "h"(offset_w), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_im2col_hint(const TensorMapParam* map, int c, int w, int h,
                                                     int n, unsigned short offset_w,
                                                     unsigned short offset_h,
                                                     unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col.L2::cache_hint"
      " [%0, {%1, %2, %3, %4}], {%5, %6}, %7;" ::"l"(map),
      "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h), "l"(policy)
      : "memory");
}

/// @overload
__device__ __forceinline__ void prefetch_im2col_hint(const TensorMapParam* map, int c, int w, int h,
                                                     int d, int n, unsigned short offset_w,
                                                     unsigned short offset_h,
                                                     unsigned short offset_d,
                                                     unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.5d.L2.global.im2col.L2::cache_hint"
      " [%0, {%1, %2, %3, %4, %5}], {%6, %7, %8}, %9;" ::"l"(map),
      "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h), "h"(offset_d),
      "l"(policy)
      : "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_IM2COL_CUH
