// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain loads and stores of 1 to 16 bytes, and L2 prefetches. load_unit and its variants use the
// path for constant data (.nc): nothing may write the memory while the kernel runs. They do not
// allocate in the L1 unless their name says "cached".

#include "kernels/ptx/unit.cuh"

namespace tw::ptx {

template <int kBytes>
__device__ __forceinline__ Unit<kBytes> load_unit(u64 address) {
  Unit<kBytes> value;
  if constexpr (kBytes == 1)
    asm volatile("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(value) : "l"(address));
  if constexpr (kBytes == 2)
    asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(value) : "l"(address));
  if constexpr (kBytes == 4)
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(address));
  if constexpr (kBytes == 8)
    asm volatile("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(value) : "l"(address));
  if constexpr (kBytes == 16)
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
  return value;
}

/// Like load_unit, but kept in the L1, for narrow accesses whose neighbors other threads load.
template <int kBytes>
__device__ __forceinline__ Unit<kBytes> load_unit_cached(u64 address) {
  Unit<kBytes> value;
  if constexpr (kBytes == 1) asm volatile("ld.global.nc.u8 %0, [%1];" : "=h"(value) : "l"(address));
  if constexpr (kBytes == 2)
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(address));
  if constexpr (kBytes == 4)
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(address));
  if constexpr (kBytes == 8)
    asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(value) : "l"(address));
  if constexpr (kBytes == 16)
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address));
  return value;
}

/// Loads if `wanted`, otherwise keeps `value`. There is no branch, and no wait for the result.
__device__ __forceinline__ void load_if_u32(u32& value, u64 address, bool wanted) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p ld.global.u32 %0, [%1];\n\t}"
      : "+r"(value)
      : "l"(address), "r"(static_cast<u32>(wanted)));
}
__device__ __forceinline__ void load_if_u16(u32& value, u64 address, bool wanted) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p ld.global.u16 %0, [%1];\n\t}"
      : "+r"(value)
      : "l"(address), "r"(static_cast<u32>(wanted)));
}

/// Like load_if_u32 for 16 bytes. It does not use the path for constant data: memory that a
/// predecessor grid writes is not constant for a kernel that starts before that grid has finished.
__device__ __forceinline__ void load_if_cached(u32& x, u32& y, u32& z, u32& w, u64 address,
                                               bool wanted) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "setp.ne.u32 p, %5, 0;\n\t"
      "@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
      : "+r"(x), "+r"(y), "+r"(z), "+r"(w)
      : "l"(address), "r"(static_cast<u32>(wanted)));
}
__device__ __forceinline__ void load_if_cached(uint4& v, u64 address, bool wanted) {
  load_if_cached(v.x, v.y, v.z, v.w, address, wanted);
}

template <int kBytes>
__device__ __forceinline__ void store_unit(u64 address, Unit<kBytes> value) {
  if constexpr (kBytes == 1)
    asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "h"(value) : "memory");
  if constexpr (kBytes == 2)
    asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(value) : "memory");
  if constexpr (kBytes == 4)
    asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
  if constexpr (kBytes == 8)
    asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
  if constexpr (kBytes == 16)
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

/// Like load_unit, with a cache policy for the L2.
template <int kBytes>
__device__ __forceinline__ Unit<kBytes> load_unit_hint(u64 address, u64 policy) {
  Unit<kBytes> value;
  if constexpr (kBytes == 1)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=h"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 2)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u16 %0, [%1], %2;"
                 : "=h"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 4)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 8)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u64 %0, [%1], %2;"
                 : "=l"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 16)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address), "l"(policy));
  return value;
}

/// Like load_unit_cached, with a cache policy.
template <int kBytes>
__device__ __forceinline__ Unit<kBytes> load_unit_cached_hint(u64 address, u64 policy) {
  Unit<kBytes> value;
  if constexpr (kBytes == 1)
    asm volatile("ld.global.nc.L2::cache_hint.u8 %0, [%1], %2;"
                 : "=h"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 2)
    asm volatile("ld.global.nc.L2::cache_hint.u16 %0, [%1], %2;"
                 : "=h"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 4)
    asm volatile("ld.global.nc.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 8)
    asm volatile("ld.global.nc.L2::cache_hint.u64 %0, [%1], %2;"
                 : "=l"(value)
                 : "l"(address), "l"(policy));
  if constexpr (kBytes == 16)
    asm volatile("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(address), "l"(policy));
  return value;
}

/// store_unit() of 16 bytes if `stores`, without a branch.
__device__ __forceinline__ void store_unit_if(bool stores, u64 address, uint4 value) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
      "@p st.global.v4.u32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(static_cast<u32>(stores))
      : "memory");
}

/// Like store_unit, with a cache policy.
template <int kBytes>
__device__ __forceinline__ void store_unit_hint(u64 address, Unit<kBytes> value, u64 policy) {
  if constexpr (kBytes == 1)
    asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;" ::"l"(address), "h"(value), "l"(policy)
                 : "memory");
  if constexpr (kBytes == 2)
    asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(address), "h"(value),
                 "l"(policy)
                 : "memory");
  if constexpr (kBytes == 4)
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(address), "r"(value),
                 "l"(policy)
                 : "memory");
  if constexpr (kBytes == 8)
    asm volatile("st.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(address), "l"(value),
                 "l"(policy)
                 : "memory");
  if constexpr (kBytes == 16)
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address),
                 "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "l"(policy)
                 : "memory");
}

/// Prefetches the line of a valid address to the L2.
__device__ __forceinline__ void prefetch_line(u64 address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

}  // namespace tw::ptx
