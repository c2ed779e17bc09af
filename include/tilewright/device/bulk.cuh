// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_BULK_CUH
#define TILEWRIGHT_DEVICE_BULK_CUH
/// @file bulk.cuh
/// Copies of bytes that lie behind one another, without a tensor map. Addresses and sizes are
/// multiples of 16. `shared` and `barrier` are shared-memory addresses, see shared_address().

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Loads bytes from global into shared memory.
/// @param shared where they go
/// @param global where they lie
/// @param bytes how many
/// @param barrier on which the bytes are counted once they have landed
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
/// @param shared where they go
/// @param global where they lie
/// @param bytes how many
/// @param barrier on which the bytes are counted once they have landed
/// @param policy of the L2: kEvictFirst, evict_last_policy(0.5f) or the like
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
/// @param shared where they go
/// @param global where they lie
/// @param bytes how many
/// @param barrier on which the bytes are counted once they have landed
/// @param mask bit r: block r of the cluster gets the box, at the same offset of its shared memory,
/// and its barrier at the same offset counts the bytes
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
/// @param shared where they go
/// @param global where they lie
/// @param bytes how many
/// @param barrier on which the bytes are counted once they have landed
/// @param mask bit r: block r of the cluster gets the box, at the same offset of its shared memory,
/// and its barrier at the same offset counts the bytes
/// @param policy of the L2: kEvictFirst, evict_last_policy(0.5f) or the like
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

/// Stores bytes from shared into global memory.
/// @param global where they go
/// @param shared where they lie
/// @param bytes how many
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
/// @param global where they go
/// @param shared where they lie
/// @param bytes how many
/// @param policy of the L2: kEvictFirst, evict_last_policy(0.5f) or the like
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

/// Copies bytes into the shared memory of another block of the cluster.
/// @param remote where they go, see cluster_address()
/// @param shared where they lie in this block
/// @param bytes how many
/// @param barrier the other block's barrier, by cluster_address(), on which the bytes are counted
/// @ptx `cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each copy.
/// @ordering Threads that wrote the bytes call fence_async_shared() before the barrier behind which
/// the copy is issued. The other block has them once it has waited for its barrier.
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
