// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads and stores of 1 to 16 bytes in shared memory, by 32-bit shared-space address.

#include "kernels/ptx/unit.cuh"

namespace tw::ptx {

template <int kBytes>
__device__ __forceinline__ Unit<kBytes> shared_load(u32 address) {
  Unit<kBytes> value;
  if constexpr (kBytes == 1)
    asm volatile("ld.shared.u8 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  if constexpr (kBytes == 2)
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  if constexpr (kBytes == 4)
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  if constexpr (kBytes == 8)
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
  if constexpr (kBytes == 16)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(address)
                 : "memory");
  return value;
}

template <int kBytes>
__device__ __forceinline__ void shared_store(u32 address, Unit<kBytes> value) {
  if constexpr (kBytes == 1)
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "h"(value) : "memory");
  if constexpr (kBytes == 2)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
  if constexpr (kBytes == 4)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
  if constexpr (kBytes == 8)
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(value) : "memory");
  if constexpr (kBytes == 16)
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

}  // namespace tw::ptx
