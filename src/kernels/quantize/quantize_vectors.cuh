// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the quantize kernels share: 16 bytes of the wide type in registers, their largest magnitude,
// and both directions of the conversion.
//
// kVector is 8 for f16 and bf16 and 4 for f32. Which of two 16-bit types it is, and the narrow
// type, are the launch's: a uniform branch for many vectors at once.

#include "kernels/common/convert.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/quantize/quantize.h"

namespace tw {

inline constexpr u32 kQuantizeLanes = 0xffffffffu;

/// Lanes that a group of 128 elements takes, and groups that a warp's access covers.
template <u32 kVector>
inline constexpr u32 kGroupLanes = kQuantizeGroup / kVector;
template <u32 kVector>
inline constexpr u32 kGroupsBeside = 32 / kGroupLanes<kVector>;

/// A launch's formats as tags. Of vectors of four the wide type is f32.
template <u32 kVector, class Body>
__device__ __forceinline__ void with_wide(u32 format, Body body) {
  if constexpr (kVector == 4)
    body(FormatTag<kFormatF32>{});
  else if (format == kFormatBF16)
    body(FormatTag<kFormatBF16>{});
  else
    body(FormatTag<kFormatF16>{});
}
template <class Body>
__device__ __forceinline__ void with_narrow(u32 format, Body body) {
  if (format == kFormatE4M3)
    body(FormatTag<kFormatE4M3>{});
  else if (format == kFormatE5M2)
    body(FormatTag<kFormatE5M2>{});
  else
    body(FormatTag<kFormatI8>{});
}

/// The largest finite magnitude of 16 bytes, as bits of their type. Integers order magnitudes as
/// numbers do, and NaN above infinity, so that only vectors with one of these are looked at twice.
template <u32 kVector>
__device__ __forceinline__ u32 largest_magnitude(const u32 (&raw)[4], u32 infinity) {
  u32 top = 0;
  if constexpr (kVector == 4) {
#pragma unroll
    for (u32 w = 0; w < 4; ++w) top = max(top, raw[w] & 0x7fffffffu);
  } else {
    u32 low = 0;
#pragma unroll
    for (u32 w = 0; w < 4; ++w) {
      top = max(top, raw[w] & 0x7fffffffu);
      low = max(low, raw[w] << 17);
    }
    top = max(top >> 16, low >> 17);
  }
  if (top < infinity) return top;
  top = 0;
  const auto take = [&](u32 magnitude) { top = magnitude < infinity ? max(top, magnitude) : top; };
#pragma unroll
  for (u32 w = 0; w < 4; ++w) {
    if constexpr (kVector == 4) {
      take(raw[w] & 0x7fffffffu);
    } else {
      take(raw[w] & 0x7fffu);
      take(raw[w] >> 16 & 0x7fffu);
    }
  }
  return top;
}

/// Four numbers of a narrow format.
template <u32 kFormat>
__device__ __forceinline__ u32 pack_narrow(const float* value) {
  if constexpr (kFormat == kFormatI8) {
    const u32 low = __byte_perm(quantize_to_i8(value[0]), quantize_to_i8(value[1]), 0x0040);
    const u32 high = __byte_perm(quantize_to_i8(value[2]), quantize_to_i8(value[3]), 0x0040);
    return __byte_perm(low, high, 0x5410);
  } else {
    return pack_bytes<kFormat>(value);
  }
}

template <u32 kWide, u32 kNarrow, u32 kVector>
__device__ __forceinline__ void quantize_vector(const u32 (&raw)[4], float inverse,
                                                u32 (&words)[4]) {
  float value[kVector];
  decode_vector<kWide, kVector>(raw, value);
#pragma unroll
  for (u32 e = 0; e < kVector; ++e) value[e] = quantize_product(value[e], inverse);
#pragma unroll
  for (u32 w = 0; w < kVector / 4; ++w) words[w] = pack_narrow<kNarrow>(value + 4 * w);
}

template <u32 kNarrow, u32 kWide, u32 kVector>
__device__ __forceinline__ void dequantize_vector(const u32 (&raw)[4], float scale,
                                                  u32 (&words)[4]) {
  float value[kVector];
  if constexpr (kNarrow == kFormatI8) {
#pragma unroll
    for (u32 e = 0; e < kVector; ++e) value[e] = quantize_from_i8(raw[e / 4] >> (8 * (e % 4)));
  } else {
    decode_vector<kNarrow, kVector>(raw, value);
  }
#pragma unroll
  for (u32 e = 0; e < kVector; ++e) value[e] = quantize_product(value[e], scale);
  encode_vector<kWide, kVector>(value, __uint_as_float(kInfinityF32), words);
}

/// The largest of a warp, in each lane.
__device__ __forceinline__ u32 warp_largest(u32 top) {
  return __reduce_max_sync(kQuantizeLanes, top);
}

/// The largest of a block's threads, in each of them. `of_warp` has a place for each warp; before
/// the next call with the same places the block must meet.
template <u32 kWarps>
__device__ __forceinline__ u32 block_largest(u32 top, u32 (&of_warp)[kWarps]) {
  top = warp_largest(top);
  if (ptx::lane_id() == 0) of_warp[threadIdx.x / 32] = top;
  ptx::sync_block();
  const u32 lane = ptx::lane_id();
  return warp_largest(lane < kWarps ? of_warp[lane] : 0);
}

__device__ __forceinline__ float load_scale(u64 address) {
  return __uint_as_float(ptx::load_after_wait<4>(address));
}

/// The scale of a region whose largest magnitude is `top`, in the source's format.
__device__ __forceinline__ float region_scale(const QuantizeArgs& args, u32 top) {
  return quantize_scale(decode(args.src_format, top), quantize_max(args.dst_format),
                        quantize_has(args, kQuantizePowersOfTwo));
}

__device__ __forceinline__ u64 row_address(u64 matrix, i64 pitch, u32 row) {
  return matrix + static_cast<u64>(static_cast<i64>(row) * pitch);
}

/// The vectors of a warp's tile of groups that this thread has: where each lies in the matrix.
template <u32 kVector>
struct GroupVectors {
  static constexpr u32 kLanes = kGroupLanes<kVector>;
  static constexpr u32 kBeside = kGroupsBeside<kVector>;
  const QuantizeArgs& args;
  u32 tile;
  u32 sub;   // which of the groups beside each other
  u32 lane;  // in its group

  __device__ __forceinline__ GroupVectors(const QuantizeArgs& arguments, u32 number)
      : args(arguments), tile(number), sub(0), lane(ptx::lane_id()) {
    if constexpr (kBeside > 1) {
      sub = lane / kLanes;
      lane %= kLanes;
    }
  }

  __device__ __forceinline__ QuantizePlace place(u32 flight) const {
    return quantize_place(args, kBeside, tile, flight, sub);
  }
  __device__ __forceinline__ u32 column(const QuantizePlace& at) const {
    return at.group * kQuantizeGroup + lane * kVector;
  }
  /// Vectors are whole or not there: the rows' length is a multiple of kVector.
  __device__ __forceinline__ bool there(const QuantizePlace& at) const {
    return at.row < args.rows && column(at) < args.columns;
  }

  /// kBytes of each vector; zeros where there is none.
  template <u32 kBytes>
  __device__ __forceinline__ void load(u32 (&raw)[kQuantizeFlight][4]) const {
#pragma unroll
    for (u32 f = 0; f < kQuantizeFlight; ++f) {
      raw[f][0] = raw[f][1] = raw[f][2] = raw[f][3] = 0;
      const QuantizePlace at = place(f);
      if (there(at))
        ptx::load_own<kBytes>(row_address(args.src, args.src_pitch, at.row) +
                                  static_cast<u64>(column(at)) * (kBytes / kVector),
                              args.src_policy, raw[f]);
    }
  }
  template <u32 kBytes>
  __device__ __forceinline__ void store(u32 flight, const u32 (&words)[4]) const {
    const QuantizePlace at = place(flight);
    if (there(at))
      ptx::store_words<kBytes>(row_address(args.dst, args.dst_pitch, at.row) +
                                   static_cast<u64>(column(at)) * (kBytes / kVector),
                               words, args.dst_policy);
  }
};

/// The tiles of a warp: one for each warp of the grid in turn.
template <class Body>
__device__ __forceinline__ void each_tile(const QuantizeArgs& args, Body body) {
  for (u32 tile = blockIdx.x * kQuantizeWarpsOfBlock + threadIdx.x / 32; tile < args.tiles;
       tile += gridDim.x * kQuantizeWarpsOfBlock)
    body(quantize_has(args, kQuantizeBackwards) ? args.tiles - 1 - tile : tile);
}

}  // namespace tw
