// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix fragments: stmatrix, ldmatrix, mma.sync, shared-memory vectors and conversions of pairs.

#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// The upper 16 bits of two floats. Written in PTX, so that nvcc keeps treating them as floats: it
/// moves accumulators that it treats as integers between wgmma instructions, which serializes
/// those.
__device__ __forceinline__ u32 upper_halves(float low, float high) {
  u32 out;
  asm("{\n .reg .b32 a, b;\n mov.b32 a, %1;\n mov.b32 b, %2;\n prmt.b32 %0, a, b, 0x7632;\n}"
      : "=r"(out)
      : "f"(low), "f"(high));
  return out;
}

/// Converts two f32 to a packed pair, rounded to nearest even; `low` goes to the lower half.
__device__ __forceinline__ u32 pack_bf16(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ u32 pack_f16(float low, float high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ float f16_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ __forceinline__ void unpack_f16(u32 pair, float& low, float& high) {
  low = f16_to_float(static_cast<unsigned short>(pair));
  high = f16_to_float(static_cast<unsigned short>(pair >> 16));
}

__device__ __forceinline__ float bf16_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<u32>(bits) << 16);
}

/// Like pack_bf16 with relu: numbers below 0 become 0, NaN stays NaN.
__device__ __forceinline__ u32 pack_bf16_relu(float low, float high) {
  u32 pair;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ u32 pack_f16_relu(float low, float high) {
  u32 pair;
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// The larger number of each half; a NaN loses against a number.
__device__ __forceinline__ u32 max_bf16(u32 a, u32 b) {
  u32 pair;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
}

/// Stores four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix
/// l / 8.
__device__ __forceinline__ void stmatrix_x4(u32 shared, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

/// Stores two matrices: lanes 0 to 15 give the addresses.
__device__ __forceinline__ void stmatrix_x2(u32 shared, u32 r0, u32 r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared), "r"(r0),
               "r"(r1)
               : "memory");
}

/// Loads what stmatrix_x4 stored.
__device__ __forceinline__ void ldmatrix_x4(u32 shared, u32 (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}

/// Like stmatrix_x4 with each matrix transposed: lane l gives the address of column l % 8.
__device__ __forceinline__ void stmatrix_x4_trans(u32 shared, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
      "r"(r0), "r"(r1), "r"(r2), "r"(r3)
      : "memory");
}

__device__ __forceinline__ void stmatrix_x2_trans(u32 shared, u32 r0, u32 r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared),
               "r"(r0), "r"(r1)
               : "memory");
}

/// Transposes an 8 x 8 matrix of 16-bit elements; four lanes hold a row.
__device__ __forceinline__ u32 transpose_matrix(u32 pair) {
  u32 transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

__device__ __forceinline__ void store_shared(u32 shared, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared), "f"(x) : "memory");
}

__device__ __forceinline__ void store_shared_v2(u32 shared, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(shared), "f"(x), "f"(y) : "memory");
}

__device__ __forceinline__ void store_shared_v4(u32 shared, const float (&v)[4]) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "f"(v[0]), "f"(v[1]),
               "f"(v[2]), "f"(v[3])
               : "memory");
}

__device__ __forceinline__ void load_shared_v2(u32 shared, float& x, float& y) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(shared) : "memory");
}

__device__ __forceinline__ void load_shared_v4(u32 shared, float (&v)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "r"(shared)
               : "memory");
}

/// d (16 x 8, f32) += a (16 x 16, row) b (16 x 8, column).
__device__ __forceinline__ void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void mma_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// d (16 x 8, f32) += a (16 x 8, row) b (8 x 8, column).
__device__ __forceinline__ void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// d (16 x 8, i32) += a (16 x 32, row) b (32 x 8, column), modulo 2^32.
__device__ __forceinline__ void mma_s8(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"
      " {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace tw::ptx
