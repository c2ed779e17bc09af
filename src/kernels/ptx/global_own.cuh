// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads of memory that the same thread may write later in the kernel: not by the path for constant
// data.

#include "kernels/arguments.h"

namespace tw::ptx {

/// A vector of 4, 8 or 16 bytes, which no neighbour shares: not kept in the first-level cache.
template <u32 kBytes>
__device__ __forceinline__ void load_own(u64 address, u64 policy, u32 (&words)[4]) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "a vector");
  if constexpr (kBytes == 4)
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(words[0])
                 : "l"(address), "l"(policy)
                 : "memory");
  if constexpr (kBytes == 8)
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(words[0]), "=r"(words[1])
                 : "l"(address), "l"(policy)
                 : "memory");
  if constexpr (kBytes == 16)
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(address), "l"(policy)
                 : "memory");
}

template <u32 kBytes>
__device__ __forceinline__ void store_words(u64 address, const u32 (&words)[4], u64 policy) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "a vector");
  if constexpr (kBytes == 4)
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(address), "r"(words[0]),
                 "l"(policy)
                 : "memory");
  if constexpr (kBytes == 8)
    asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(address),
                 "r"(words[0]), "r"(words[1]), "l"(policy)
                 : "memory");
  if constexpr (kBytes == 16)
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "l"(policy)
                 : "memory");
}

/// One element of 1 to 8 bytes, zero-extended.
__device__ __forceinline__ u64 load_own_element(u64 address, u32 bytes, u64 policy) {
  u32 narrow = 0;
  u64 wide = 0;
  switch (bytes) {
    case 1:
      asm volatile("ld.global.L2::cache_hint.u8 %0, [%1], %2;"
                   : "=r"(narrow)
                   : "l"(address), "l"(policy)
                   : "memory");
      return narrow;
    case 2:
      asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;"
                   : "=r"(narrow)
                   : "l"(address), "l"(policy)
                   : "memory");
      return narrow;
    case 4:
      asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
                   : "=r"(narrow)
                   : "l"(address), "l"(policy)
                   : "memory");
      return narrow;
    default:
      asm volatile("ld.global.L2::cache_hint.u64 %0, [%1], %2;"
                   : "=l"(wide)
                   : "l"(address), "l"(policy)
                   : "memory");
      return wide;
  }
}

__device__ __forceinline__ void store_element(u64 address, u32 bytes, u64 value, u64 policy) {
  const auto narrow = static_cast<u32>(value);
  switch (bytes) {
    case 1:
      asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;" ::"l"(address), "r"(narrow),
                   "l"(policy)
                   : "memory");
      return;
    case 2:
      asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(address), "r"(narrow),
                   "l"(policy)
                   : "memory");
      return;
    case 4:
      asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(address), "r"(narrow),
                   "l"(policy)
                   : "memory");
      return;
    default:
      asm volatile("st.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(address), "l"(value),
                   "l"(policy)
                   : "memory");
  }
}

}  // namespace tw::ptx
