// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_BULK_CUH
#define TILEWRIGHT_DEVICE_BULK_CUH
/// @file bulk.cuh
/// Copies of consecutive bytes, without a tensor map. Addresses and sizes must be multiples of 16.
/// `shared` and `barrier` are shared-memory addresses, see shared_address().

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Loads bytes from global to shared memory.
/// @param shared destination, a shared-memory address
/// @param global source
/// @param bytes number of bytes
/// @param barrier on which the bytes complete when they have arrived
/// @ptx `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering As load_tile().
__device__ __forceinline__ void load_bulk(unsigned shared, const void* global, unsigned bytes,
                                          unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}

/// As load_bulk(), with a cache policy.
/// @param shared destination, a shared-memory address
/// @param global source
/// @param bytes number of bytes
/// @param barrier on which the bytes complete when they have arrived
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering As load_tile().
__device__ __forceinline__ void load_bulk_hint(unsigned shared, const void* global, unsigned bytes,
                                               unsigned barrier, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

/// As load_bulk(), into several blocks of the cluster at once.
/// @param shared destination, a shared-memory address
/// @param global source
/// @param bytes number of bytes
/// @param barrier on which the bytes complete when they have arrived
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @ptx `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering As load_tile_multicast().
__device__ __forceinline__ void load_bulk_multicast(unsigned shared, const void* global,
                                                    unsigned bytes, unsigned barrier,
                                                    unsigned mask) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "h"(static_cast<unsigned short>(mask))
      : "memory");
}

/// As load_bulk_multicast(), with a cache policy.
/// @param shared destination, a shared-memory address
/// @param global source
/// @param bytes number of bytes
/// @param barrier on which the bytes complete when they have arrived
/// @param mask bit r: block r of the cluster receives the data, at the same offset of its shared
/// memory, and its barrier at the same offset counts the bytes
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx
/// `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering As load_tile_multicast().
__device__ __forceinline__ void load_bulk_multicast_hint(unsigned shared, const void* global,
                                                         unsigned bytes, unsigned barrier,
                                                         unsigned mask, unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
      "cache_hint"
      " [%0], [%1], %2, [%3], %4, %5;" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "h"(static_cast<unsigned short>(mask)), "l"(policy)
      : "memory");
}

/// Stores bytes from shared to global memory.
/// @param global destination
/// @param shared source, a shared-memory address
/// @param bytes number of bytes
/// @ptx `cp.async.bulk.global.shared::cta.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy, which also commits and waits.
/// @ordering As store_tile().
__device__ __forceinline__ void store_bulk(void* global, unsigned shared, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared), "r"(bytes)
               : "memory");
}

/// As store_bulk(), with a cache policy.
/// @param global destination
/// @param shared source, a shared-memory address
/// @param bytes number of bytes
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy, which also commits and waits.
/// @ordering As store_tile().
__device__ __forceinline__ void store_bulk_hint(void* global, unsigned shared, unsigned bytes,
                                                unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
          global),
      "r"(shared), "r"(bytes), "l"(policy)
      : "memory");
}

/// Copies bytes to the shared memory of another block of the cluster.
/// @param remote destination, see cluster_address()
/// @param shared source in this block, a shared-memory address
/// @param bytes number of bytes
/// @param barrier address from cluster_address() of the other block's barrier, on which the bytes
/// complete
/// @ptx `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering Threads that wrote the bytes call fence_async_shared() before the barrier that
/// precedes the copy. The other block can read the bytes after it has waited for its barrier.
__device__ __forceinline__ void copy_bulk_cluster(unsigned remote, unsigned shared, unsigned bytes,
                                                  unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(remote),
      "r"(shared), "r"(bytes), "r"(barrier)
      : "memory");
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_BULK_CUH
