// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts vectors between floating-point formats and f32 by instructions, with the same bits as
// the formulas of convert.h. The instructions for 8-bit formats always saturate, and turn every NaN
// into the positive one with all bits set. encode_bytes() restores overflow where it is wanted. It
// does so without a branch, because any number of elements may overflow.

#include "kernels/common/convert.h"
#include "kernels/ptx/convert.cuh"
#include "kernels/ptx/matrix.cuh"

namespace tw {

template <u32 kFormat>
struct FormatTag {
  static constexpr u32 kNumber = kFormat;
  static constexpr u32 kBytes = format_bytes(kFormat);
};

/// Calls body(FormatTag) for `format`, unless kVector elements of it exceed 16 bytes.
template <u32 kVector, class Body>
__device__ __forceinline__ void with_format(u32 format, Body body) {
  switch (format) {
    case kFormatF32:
      if constexpr (kVector <= 4) body(FormatTag<kFormatF32>{});
      return;
    case kFormatF16:
      if constexpr (kVector <= 8) body(FormatTag<kFormatF16>{});
      return;
    case kFormatBF16:
      if constexpr (kVector <= 8) body(FormatTag<kFormatBF16>{});
      return;
    case kFormatE4M3:
      return body(FormatTag<kFormatE4M3>{});
    default:
      return body(FormatTag<kFormatE5M2>{});
  }
}

template <u32 kFormat, u32 kVector>
__device__ __forceinline__ void decode_vector(const u32 (&words)[4], float (&value)[kVector]) {
  constexpr u32 kBytes = format_bytes(kFormat);
#pragma unroll
  for (u32 w = 0; w < kVector * kBytes / 4; ++w) {
    const u32 word = words[w];
    if constexpr (kFormat == kFormatF32) {
      value[w] = __uint_as_float(word);
    } else if constexpr (kFormat == kFormatF16) {
      ptx::unpack_f16(word, value[2 * w], value[2 * w + 1]);
    } else if constexpr (kFormat == kFormatBF16) {
      value[2 * w] = __uint_as_float(word << 16);
      value[2 * w + 1] = __uint_as_float(word & 0xffff0000u);
    } else if constexpr (kFormat == kFormatE4M3) {
      ptx::unpack_f16(ptx::e4m3_to_f16(static_cast<unsigned short>(word)), value[4 * w],
                      value[4 * w + 1]);
      ptx::unpack_f16(ptx::e4m3_to_f16(static_cast<unsigned short>(word >> 16)), value[4 * w + 2],
                      value[4 * w + 3]);
    } else {
      // e5m2 is the upper byte of an f16.
      ptx::unpack_f16(__byte_perm(word, 0, 0x1404), value[4 * w], value[4 * w + 1]);
      ptx::unpack_f16(__byte_perm(word, 0, 0x3424), value[4 * w + 2], value[4 * w + 3]);
    }
  }
}

/// Packs four numbers of an 8-bit format, saturated.
template <u32 kFormat>
__device__ __forceinline__ u32 pack_bytes(const float* value) {
  if constexpr (kFormat == kFormatE4M3)
    return ptx::pack_e4m3(value[0], value[1]) | ptx::pack_e4m3(value[2], value[3]) << 16;
  else
    return ptx::pack_e5m2(value[0], value[1]) | ptx::pack_e5m2(value[2], value[3]) << 16;
}

/// Encodes a vector in an 8-bit format. Without saturation overflow becomes NaN in e4m3, which has
/// no infinity: values are replaced before the conversion. In e5m2 it becomes infinity: the
/// converted value, the largest finite number, is incremented by one after the conversion.
template <u32 kFormat, u32 kVector>
__device__ __forceinline__ void encode_bytes(const float (&value)[kVector], float limit,
                                             u32 (&words)[4]) {
  const float nan = __uint_as_float(format_nan(kFormatF32));
  const bool saturates = limit < __uint_as_float(kInfinityF32);
  if constexpr (kFormat == kFormatE4M3) {
    const float last = saturates ? nan : __uint_as_float(kOverflowE4M3 - 1);
    float kept[kVector];
#pragma unroll
    for (u32 e = 0; e < kVector; ++e) kept[e] = fabsf(value[e]) > last ? nan : value[e];
#pragma unroll
    for (u32 w = 0; w < kVector / 4; ++w) words[w] = pack_bytes<kFormat>(kept + 4 * w);
  } else {
    const float over = saturates ? nan : __uint_as_float(kOverflowE5M2);
#pragma unroll
    for (u32 w = 0; w < kVector / 4; ++w) words[w] = pack_bytes<kFormat>(value + 4 * w);
#pragma unroll
    for (u32 e = 0; e < kVector; ++e)
      if (fabsf(value[e]) >= over) words[e / 4] += 1u << (8 * (e % 4));
  }
}

/// Encodes a vector. `limit` is the largest magnitude to write: infinity, or format_max() to
/// saturate. Changes `value`.
template <u32 kFormat, u32 kVector>
__device__ __forceinline__ void encode_vector(float (&value)[kVector], float limit,
                                              u32 (&words)[4]) {
  constexpr u32 kBytes = format_bytes(kFormat);
  if constexpr (kBytes == 1) {
    encode_bytes<kFormat, kVector>(value, limit, words);
    return;
  }
  if (limit < __uint_as_float(kInfinityF32)) {
#pragma unroll
    for (u32 e = 0; e < kVector; ++e) value[e] = saturate(value[e], limit);
  }
#pragma unroll
  for (u32 w = 0; w < kVector * kBytes / 4; ++w) {
    if constexpr (kFormat == kFormatF32)
      words[w] = value[w] != value[w] ? format_nan(kFormatF32) : __float_as_uint(value[w]);
    else if constexpr (kFormat == kFormatF16)
      words[w] = ptx::pack_f16(value[2 * w], value[2 * w + 1]);
    else if constexpr (kFormat == kFormatBF16)
      words[w] = ptx::pack_bf16(value[2 * w], value[2 * w + 1]);
  }
}

}  // namespace tw
