// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions and other atomic operations of single threads in global memory, at device scope.

#include "kernels/ptx/unit.cuh"

namespace tw::ptx {

#define TW_REDUCE(name, suffix, type, constraint)                                               \
  __device__ __forceinline__ void reduce_##name(u64 global, type value) {                       \
    asm volatile("red.relaxed.gpu.global." suffix " [%0], %1;" ::"l"(global), constraint(value) \
                 : "memory");                                                                   \
  }
TW_REDUCE(add_f32, "add.f32", float, "f")
TW_REDUCE(add_f64, "add.f64", double, "d")
TW_REDUCE(add_f16, "add.noftz.f16", unsigned short, "h")
TW_REDUCE(add_bf16, "add.noftz.bf16", unsigned short, "h")
TW_REDUCE(add_f16x2, "add.noftz.f16x2", u32, "r")  // two elements in a word
TW_REDUCE(add_bf16x2, "add.noftz.bf16x2", u32, "r")
TW_REDUCE(add_u32, "add.u32", u32, "r")
TW_REDUCE(add_u64, "add.u64", u64, "l")
TW_REDUCE(min_u32, "min.u32", u32, "r")
TW_REDUCE(min_s32, "min.s32", i32, "r")
TW_REDUCE(min_u64, "min.u64", u64, "l")
TW_REDUCE(min_s64, "min.s64", i64, "l")
TW_REDUCE(max_u32, "max.u32", u32, "r")
TW_REDUCE(max_s32, "max.s32", i32, "r")
TW_REDUCE(max_u64, "max.u64", u64, "l")
TW_REDUCE(max_s64, "max.s64", i64, "l")
#undef TW_REDUCE

/// 16 bytes of elements; the address is a multiple of 16.
__device__ __forceinline__ void reduce_add_v4_f32(u64 global, const float (&v)[4]) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(global), "f"(v[0]),
               "f"(v[1]), "f"(v[2]), "f"(v[3])
               : "memory");
}
__device__ __forceinline__ void reduce_add_v4_f16x2(u64 global, uint4 v) {
  asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(global),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ __forceinline__ void reduce_add_v4_bf16x2(u64 global, uint4 v) {
  asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(global),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

/// Replaces the value at `global` by `desired` if it is `expected`. Returns the old value.
__device__ __forceinline__ unsigned short compare_swap(u64 global, unsigned short expected,
                                                       unsigned short desired) {
  unsigned short old;
  asm volatile("atom.relaxed.gpu.global.cas.b16 %0, [%1], %2, %3;"
               : "=h"(old)
               : "l"(global), "h"(expected), "h"(desired)
               : "memory");
  return old;
}
__device__ __forceinline__ u32 compare_swap(u64 global, u32 expected, u32 desired) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(global), "r"(expected), "r"(desired)
               : "memory");
  return old;
}
__device__ __forceinline__ u64 compare_swap(u64 global, u64 expected, u64 desired) {
  u64 old;
  asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(old)
               : "l"(global), "l"(expected), "l"(desired)
               : "memory");
  return old;
}

/// Acquire and release: writes before this operation, also of threads that the caller has
/// synchronized with, are visible to a thread that acquires the new value. The caller sees the
/// writes before the operation that stored the old value. Both return the old value.
__device__ __forceinline__ u64 add_acq_rel(u64 global, u64 value) {
  u64 old;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
               : "=l"(old)
               : "l"(global), "l"(value)
               : "memory");
  return old;
}
__device__ __forceinline__ u64 compare_swap_acq_rel(u64 global, u64 expected, u64 desired) {
  u64 old;
  asm volatile("atom.acq_rel.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(old)
               : "l"(global), "l"(expected), "l"(desired)
               : "memory");
  return old;
}

/// The caller sees the writes before the operation that stored the value.
__device__ __forceinline__ u64 load_acquire(u64 global) {
  u64 value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(global) : "memory");
  return value;
}

__device__ __forceinline__ void store_relaxed(u64 global, u64 value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(global), "l"(value) : "memory");
}

}  // namespace tw::ptx
