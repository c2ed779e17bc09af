// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of any rank, strides and alignment by ordinary loads and stores.
//
// Threads iterate in the destination's order, so that adjacent threads write adjacent units. Each
// thread issues four loads before its first store.

#include "kernels/copy/copy.h"
#include "kernels/ptx/global.cuh"

namespace tw {

inline constexpr int kStridedFlight = 4;

template <bool kSmall>
__device__ __forceinline__ void strided_offsets(const CopyStridedArgs& args, u64 unit, i64* src,
                                                i64* dst) {
  i64 s = 0;
  i64 d = 0;
  u64 rest = unit;
  for (u32 dim = 0; dim + 1 < args.rank; ++dim) {
    u64 next;
    u64 index;
    if constexpr (kSmall) {
      const u32 quotient = divide(static_cast<u32>(rest), args.divider[dim]);
      index = static_cast<u32>(rest) - quotient * args.divider[dim].divisor;
      next = quotient;
    } else {
      next = rest / args.extent[dim];
      index = rest - next * args.extent[dim];
    }
    s += static_cast<i64>(index) * args.src_stride[dim];
    d += static_cast<i64>(index) * args.dst_stride[dim];
    rest = next;
  }
  *src = s + static_cast<i64>(rest) * args.src_stride[args.rank - 1];
  *dst = d + static_cast<i64>(rest) * args.dst_stride[args.rank - 1];
}

template <int kBytes, bool kSmall>
__device__ __forceinline__ void strided_units(const CopyStridedArgs& args) {
  const u64 step = static_cast<u64>(gridDim.x) * kCopyStridedThreads;
  const u64 first = static_cast<u64>(blockIdx.x) * kCopyStridedThreads + threadIdx.x;
  for (u64 unit = first; unit < args.units; unit += kStridedFlight * step) {
    ptx::Unit<kBytes> value[kStridedFlight];
    i64 to[kStridedFlight];
#pragma unroll
    for (int k = 0; k < kStridedFlight; ++k) {
      const u64 mine = unit + static_cast<u64>(k) * step;
      if (mine >= args.units) break;
      i64 from;
      strided_offsets<kSmall>(args, mine, &from, &to[k]);
      value[k] =
          ptx::load_unit_cached_hint<kBytes>(args.src + static_cast<u64>(from), args.src_policy);
    }
#pragma unroll
    for (int k = 0; k < kStridedFlight; ++k) {
      if (unit + static_cast<u64>(k) * step >= args.units) break;
      ptx::store_unit_hint<kBytes>(args.dst + static_cast<u64>(to[k]), value[k], args.dst_policy);
    }
  }
}

template <bool kSmall>
__device__ __forceinline__ void strided_any(const CopyStridedArgs& args) {
  switch (args.unit_bytes) {
    case 1:
      return strided_units<1, kSmall>(args);
    case 2:
      return strided_units<2, kSmall>(args);
    case 4:
      return strided_units<4, kSmall>(args);
    case 8:
      return strided_units<8, kSmall>(args);
    default:
      return strided_units<16, kSmall>(args);
  }
}

__device__ __forceinline__ void copy_strided(const CopyStridedArgs& args) {
  if (args.units < kDividerLimit)
    strided_any<true>(args);
  else
    strided_any<false>(args);
}

template <int kBytes, bool kSmall>
__device__ __forceinline__ void fill_units(const CopyFillArgs& args) {
  ptx::Unit<kBytes> value;
  if constexpr (kBytes == 16) {
    const auto low = static_cast<u32>(args.pattern);
    const auto high = static_cast<u32>(args.pattern >> 32);
    value = make_uint4(low, high, low, high);
  } else {
    value = static_cast<ptx::Unit<kBytes>>(args.pattern);
  }
  const u64 step = static_cast<u64>(gridDim.x) * kCopyStridedThreads;
  u64 unit = static_cast<u64>(blockIdx.x) * kCopyStridedThreads + threadIdx.x;
  for (; unit < args.place.units; unit += step) {
    i64 from, to;
    strided_offsets<kSmall>(args.place, unit, &from, &to);
    ptx::store_unit_hint<kBytes>(args.place.dst + static_cast<u64>(to), value,
                                 args.place.dst_policy);
  }
}

template <bool kSmall>
__device__ __forceinline__ void fill_any(const CopyFillArgs& args) {
  switch (args.place.unit_bytes) {
    case 1:
      return fill_units<1, kSmall>(args);
    case 2:
      return fill_units<2, kSmall>(args);
    case 4:
      return fill_units<4, kSmall>(args);
    case 8:
      return fill_units<8, kSmall>(args);
    default:
      return fill_units<16, kSmall>(args);
  }
}

__device__ __forceinline__ void copy_fill(const CopyFillArgs& args) {
  if (args.place.units < kDividerLimit)
    fill_any<true>(args);
  else
    fill_any<false>(args);
}

}  // namespace tw
