// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to C and D of kernels for narrow types ("scaled" in names), whose arguments select the
// type of D. Callers handle kGemmI32 themselves.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "kernels/gemm/epilogue/full_epilogue.cuh"

namespace tw {

// The following two functions load or store the first `count` of eight elements.
__device__ __forceinline__ void scaled_load(u32 type, u64 matrix, i64 element, i32 step, i32 count,
                                            float (&v)[8]) {
  const auto load = [&](auto tag) {
    using Type = decltype(tag);
    full_load<Type>(matrix + static_cast<u64>(element * i64{Type::kBytes}), step, count, v);
  };
  switch (type) {
    case kFormatF32:
      return load(F32{});
    case kFormatF16:
      return load(F16{});
    case kFormatBF16:
      return load(Bf16{});
    case kFormatE4M3:
      return load(F8E4M3{});
    case kFormatE5M2:
      return load(F8E5M2{});
    default:
      return load(I8{});
  }
}
__device__ __forceinline__ void scaled_store(u32 type, u64 matrix, i64 element, i32 count,
                                             const float (&v)[8]) {
  const auto store = [&](auto tag) {
    using Type = decltype(tag);
    full_store<Type>(matrix + static_cast<u64>(element * i64{Type::kBytes}), count, v);
  };
  switch (type) {
    case kFormatF32:
      return store(F32{});
    case kFormatF16:
      return store(F16{});
    case kFormatBF16:
      return store(Bf16{});
    case kFormatE4M3:
      return store(F8E4M3{});
    case kFormatE5M2:
      return store(F8E5M2{});
    default:
      return store(I8{});
  }
}
__device__ __forceinline__ bool is_scaled_f8(u32 type) {
  return type == kFormatE4M3 || type == kFormatE5M2;
}
__device__ __forceinline__ i32 scaled_bytes(u32 type) {
  return type == kGemmI8 ? 1 : type == kGemmI32 ? 4 : static_cast<i32>(format_bytes(type));
}

// Updates amax with the largest |D|, rounded to D's type. For 8-bit floats `largest` is the
// magnitude before D's factor. Whole warps call it.
__device__ __forceinline__ void scaled_amax(const GemmEpilogueArgs& args, u32 type, u32 largest) {
  if (type == kFormatF16) return full_amax<F16>(args, largest);
  if (type == kFormatBF16) return full_amax<Bf16>(args, largest);
  if (type == kGemmI8) return full_amax<I8>(args, largest);
  full_amax<F32>(args, largest);
}

}  // namespace tw
