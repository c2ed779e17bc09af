// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_BARRIER_CUH
#define TILEWRIGHT_DEVICE_BARRIER_CUH
/// @file barrier.cuh
/// Shared-memory barriers (mbarrier). A barrier is 8 bytes of shared memory at a multiple of 8, and
/// counts arrivals and bytes. Its phase ends when all arrivals have occurred and all expected bytes
/// have been written; then the next phase begins with the same number of arrivals. A waiting thread
/// gives the parity of the phase that it waits for: 0 for the first phase, 1 for the second, 0 for
/// the third.

#include <tilewright/device/delay.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// Initializes a barrier in 8 bytes of shared memory.
/// @param barrier its shared-memory address, see shared_address()
/// @param arrivals arrivals that end a phase, 1 to 2^20 - 1
/// @ptx `mbarrier.init.shared::cta.b64`
/// @needs PTX ISA 7.8, sm_90
/// @calledby One thread.
/// @ordering Threads of the block may use the barrier after a block barrier such as
/// __syncthreads(). Before that, the same thread must call fence_mbarrier_init() if the TMA or
/// other blocks of the cluster use the barrier.
__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Invalidates a barrier, so that its bytes may be reused.
/// @param barrier its shared-memory address
/// @ptx `mbarrier.inval.shared::cta.b64`
/// @needs PTX ISA 7.8, sm_90
/// @calledby One thread.
/// @ordering Call it after the last operation on the barrier. To ensure this order, use a barrier
/// of the block, or of the cluster if other blocks arrive on it.
__device__ __forceinline__ void mbarrier_invalidate(unsigned barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Arrives once on a barrier.
/// @param barrier shared-memory address of a barrier of this block
/// @ptx `mbarrier.arrive.shared::cta.b64`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Each thread that the barrier counts.
/// @ordering A release at block scope: a thread that waits for the phase sees what this thread did
/// before.
__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
  TILEWRIGHT_DELAY();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
  TILEWRIGHT_DELAY();
}

/// Adds bytes to those that the barrier's phase expects, then arrives once.
/// @param barrier shared-memory address of a barrier of this block
/// @param bytes number of bytes that loads will complete on this barrier, below 2^20
/// @ptx `mbarrier.arrive.expect_tx.shared::cta.b64`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each phase, usually the one that issues the loads.
/// @ordering The loads may be issued before or after this call. The phase cannot end before it.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned barrier, unsigned bytes) {
  TILEWRIGHT_DELAY();
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  TILEWRIGHT_DELAY();
}

/// Adds bytes to those that the barrier's phase expects, without arriving.
/// @param barrier shared-memory address of a barrier of this block
/// @param bytes number of bytes that loads will complete on this barrier, below 2^20
/// @ptx `mbarrier.expect_tx.relaxed.cta.shared::cta.b64`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Any thread.
/// @ordering Call it before an arrival that the same phase still needs; otherwise the phase may end
/// too early. It does not order memory accesses.
__device__ __forceinline__ void mbarrier_expect(unsigned barrier, unsigned bytes) {
  TILEWRIGHT_DELAY();
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  TILEWRIGHT_DELAY();
}

/// Arrives once on a barrier of any block of the cluster.
/// @param remote the barrier's address, see cluster_address(); the block may be this one
/// @ptx `mbarrier.arrive.shared::cluster.b64`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Each thread that the other block's barrier counts.
/// @ordering The call suffices to tell another block that this thread has read loaded bytes. For
/// ordinary writes that other blocks read, use mbarrier_arrive_cluster().
__device__ __forceinline__ void mbarrier_arrive_remote(unsigned remote) {
  TILEWRIGHT_DELAY();
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
  TILEWRIGHT_DELAY();
}

/// The same as mbarrier_arrive_remote(); it also releases the thread's writes to the cluster.
/// @param remote the barrier's address, see cluster_address()
/// @ptx `mbarrier.arrive.release.cluster.shared::cluster.b64`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Each thread that the barrier counts.
/// @ordering A release at cluster scope: a thread that waits with mbarrier_wait_cluster() sees what
/// this thread did before.
__device__ __forceinline__ void mbarrier_arrive_cluster(unsigned remote) {
  TILEWRIGHT_DELAY();
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote)
               : "memory");
  TILEWRIGHT_DELAY();
}

/// Waits for a limited time, which the hardware chooses, and returns whether the phase is over.
/// @param barrier shared-memory address of a barrier of this block
/// @param parity of the phase: 0 or 1
/// @ptx `mbarrier.try_wait.parity.shared::cta.b64`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering If it returns true, an acquire at block scope: the thread sees what the arriving
/// threads did before, and the bytes that loads completed on the barrier.
__device__ __forceinline__ bool mbarrier_try_wait(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// Returns whether the phase is over, without waiting.
/// @param barrier shared-memory address of a barrier of this block
/// @param parity of the phase: 0 or 1
/// @ptx `mbarrier.test_wait.parity.shared::cta.b64`
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread.
/// @ordering As mbarrier_try_wait().
__device__ __forceinline__ bool mbarrier_test_wait(unsigned barrier, unsigned parity) {
  unsigned done;
  TILEWRIGHT_DELAY();
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// Waits until the phase is over.
/// @param barrier shared-memory address of a barrier of this block
/// @param parity of the phase: 0 or 1
/// @ptx `mbarrier.try_wait.parity.shared::cta.b64`, in a loop
/// @needs PTX ISA 7.8, sm_90
/// @calledby Any thread. The barrier may be at most one phase ahead of the thread that waits.
/// @ordering As mbarrier_try_wait().
__device__ __forceinline__ void mbarrier_wait(unsigned barrier, unsigned parity) {
  TILEWRIGHT_DELAY();
  while (!mbarrier_try_wait(barrier, parity)) {
  }
  TILEWRIGHT_DELAY();
}

/// As mbarrier_try_wait(), for writes that other blocks of the cluster have released.
/// @param barrier shared-memory address of a barrier of this block
/// @param parity of the phase: 0 or 1
/// @ptx `mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64`
/// @needs PTX ISA 8.0, sm_90
/// @calledby Any thread.
/// @ordering If it returns true, an acquire at cluster scope: see mbarrier_arrive_cluster().
__device__ __forceinline__ bool mbarrier_try_wait_cluster(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// As mbarrier_wait(), for writes that other blocks of the cluster have released.
/// @param barrier shared-memory address of a barrier of this block
/// @param parity of the phase: 0 or 1
/// @ptx `mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64`, in a loop
/// @needs PTX ISA 8.0, sm_90
/// @calledby Any thread. The barrier may be at most one phase ahead of the thread that waits.
/// @ordering As mbarrier_try_wait_cluster().
__device__ __forceinline__ void mbarrier_wait_cluster(unsigned barrier, unsigned parity) {
  TILEWRIGHT_DELAY();
  while (!mbarrier_try_wait_cluster(barrier, parity)) {
  }
  TILEWRIGHT_DELAY();
}

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_BARRIER_CUH
