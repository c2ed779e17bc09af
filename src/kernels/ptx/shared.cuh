// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads and stores of shared memory by shared-state-space address.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

__device__ __forceinline__ u32 shared_load_u8(u32 address) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ u64 shared_load_u64(u32 address) {
  u64 value;
  asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ void shared_store_u64(u32 address, u64 value) {
  asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(value) : "memory");
}

/// 16 bytes of zeros; the address is a multiple of 16.
__device__ __forceinline__ void shared_store_zeros(u32 address) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
}

}  // namespace tw::ptx
