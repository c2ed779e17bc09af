// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of the kernels as tag types: storage, conversions and mma.sync.

#include "kernels/narrow.h"
#include "kernels/ptx/convert.cuh"
#include "kernels/ptx/matrix.cuh"

namespace tw {

struct Bf16 {
  using Storage = unsigned short;
  static constexpr u32 kBytes = 2;
  static __device__ __forceinline__ u32 pack(float low, float high) {
    return ptx::pack_bf16(low, high);
  }
  static __device__ __forceinline__ u32 pack_relu(float low, float high) {
    return ptx::pack_bf16_relu(low, high);
  }
  static __device__ __forceinline__ Storage from_float(float value) {
    return static_cast<Storage>(ptx::pack_bf16(value, 0.0f));
  }
  static __device__ __forceinline__ float to_float(Storage bits) {
    return ptx::bf16_to_float(bits);
  }
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    ptx::mma_bf16(d, a, b);
  }
};

using BF16 = Bf16;  // the spelling of kernel entries

struct F16 {
  using Storage = unsigned short;
  static constexpr u32 kBytes = 2;
  static __device__ __forceinline__ u32 pack(float low, float high) {
    return ptx::pack_f16(low, high);
  }
  static __device__ __forceinline__ u32 pack_relu(float low, float high) {
    return ptx::pack_f16_relu(low, high);
  }
  static __device__ __forceinline__ Storage from_float(float value) {
    return static_cast<Storage>(ptx::pack_f16(value, 0.0f));
  }
  static __device__ __forceinline__ float to_float(Storage bits) { return ptx::f16_to_float(bits); }
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    ptx::mma_f16(d, a, b);
  }
};

struct F32 {
  using Storage = float;
  static constexpr u32 kBytes = 4;
  static __device__ __forceinline__ Storage from_float(float value) { return value; }
  static __device__ __forceinline__ float to_float(Storage value) { return value; }
};

/// An input type: 32-bit floats that tensor maps round to tf32.
struct Tf32 {
  using Storage = float;
  static constexpr u32 kBytes = 4;
  static __device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    ptx::mma_tf32(d, a, b);
  }
};
using TF32 = Tf32;

/// Conversions from float saturate, here and in F8E5M2.
struct F8E4M3 {
  using Storage = unsigned char;
  static constexpr u32 kBytes = 1;
  static __device__ __forceinline__ u32 pack(float low, float high) {
    return ptx::pack_e4m3(low, high);
  }
  static __device__ __forceinline__ Storage from_float(float value) {
    return static_cast<Storage>(pack(value, 0.0f));
  }
  static __device__ __forceinline__ float to_float(Storage bits) {
    return ptx::f16_to_float(static_cast<unsigned short>(ptx::e4m3_to_f16(bits)));
  }
};

struct F8E5M2 {
  using Storage = unsigned char;
  static constexpr u32 kBytes = 1;
  static __device__ __forceinline__ u32 pack(float low, float high) {
    return ptx::pack_e5m2(low, high);
  }
  static __device__ __forceinline__ Storage from_float(float value) {
    return static_cast<Storage>(pack(value, 0.0f));
  }
  static __device__ __forceinline__ float to_float(Storage bits) {
    return ptx::f16_to_float(static_cast<unsigned short>(bits << 8));
  }
};

/// Conversions from float saturate; NaN becomes 0.
struct I8 {
  using Storage = signed char;
  static constexpr u32 kBytes = 1;
  static __device__ __forceinline__ u32 pack(float low, float high) {
    return (static_cast<u32>(rounded_to_i8(low)) & 0xffu) |
           (static_cast<u32>(rounded_to_i8(high)) & 0xffu) << 8;
  }
  static __device__ __forceinline__ Storage from_float(float value) {
    return static_cast<Storage>(rounded_to_i8(value));
  }
  static __device__ __forceinline__ float to_float(Storage value) {
    return static_cast<float>(value);
  }
  static __device__ __forceinline__ void mma(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    ptx::mma_s8(d, a, b);
  }
};

}  // namespace tw
