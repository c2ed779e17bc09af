// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads and stores of memory that this kernel or its predecessor grid writes. The loads do not use
// the path for constant data (.nc).

#include "kernels/ptx/unit.cuh"

namespace tw::ptx {

/// Loads a word or a vector after grid_dependency_wait(); kept in the L1.
template <int kBytes>
__device__ __forceinline__ Unit<kBytes> load_after_wait(u64 address) {
  static_assert(kBytes == 4 || kBytes == 16, "a word or a vector");
  Unit<kBytes> value;
  if constexpr (kBytes == 4)
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  if constexpr (kBytes == 16)
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address)
                 : "memory");
  return value;
}

/// Like load_after_wait, for a byte.
__device__ __forceinline__ Unit<1> load_byte_after_wait(u64 address) {
  Unit<1> value;
  asm volatile("ld.global.u8 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
  return value;
}

/// Loads four floats that another CTA of this grid has written, from the L2. The offset is part of
/// the instruction, so that neighboring loads share an address register.
template <u32 kOffset = 0>
__device__ __forceinline__ void load_l2_v4(u64 address, float (&v)[4]) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4 + %5];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "l"(address), "n"(kOffset)
               : "memory");
}

__device__ __forceinline__ void store_v4(u64 address, float x, float y, float z, float w) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(x), "f"(y), "f"(z),
               "f"(w)
               : "memory");
}

/// A device-scope fence: a thread that observes a write after it also observes the writes before
/// it, of this thread and of the threads that it has synchronized with.
__device__ __forceinline__ void fence_gpu() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/// Like load_after_wait<4> if `wanted`, otherwise returns `other`; without a branch.
__device__ __forceinline__ u32 load_word_after_wait(bool wanted, u64 address, u32 other) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p ld.global.u32 %0, [%1];\n\t}"
      : "+r"(other)
      : "l"(address), "r"(static_cast<u32>(wanted))
      : "memory");
  return other;
}

/// Loads 4, 8 or 16 bytes that no other thread needs, so that the L1 does not keep them.
template <u32 kBytes>
__device__ __forceinline__ void load_once(u64 address, u64 policy, u32 (&words)[4]) {
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

/// Like load_once<16>, as a vector.
__device__ __forceinline__ uint4 load_once_vector(u64 address, u64 policy) {
  u32 words[4];
  load_once<16>(address, policy, words);
  return make_uint4(words[0], words[1], words[2], words[3]);
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

/// Loads an element of 1, 2, 4 or 8 bytes, zero-extended. The kernel may write the element later.
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
