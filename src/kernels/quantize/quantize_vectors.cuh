// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the vector kernels: 16 bytes of the wide type in registers, their largest magnitude,
// conversion in both directions, and the tile of a warp.
//
// kVector is 8 for f16 and bf16 and 4 for f32. The launch selects between f16 and bf16 and selects
// the narrow type, by one uniform branch for many vectors.

#include "kernels/common/convert.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/quantize/quantize.h"

namespace tw {

inline constexpr u32 kFullWarpMask = 0xffffffffu;

/// Lanes that hold a group of 128 elements, and groups that one access of a warp covers.
template <u32 kVector>
inline constexpr u32 kGroupLanes = kQuantizeGroup / kVector;
template <u32 kVector>
inline constexpr u32 kGroupsPerAccess = 32 / kGroupLanes<kVector>;

/// Calls body with the launch's format as a tag type. Vectors of four elements are f32.
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

// A magnitude is an element's bits without the sign. Two 16-bit magnitudes are compared at once as
// bf16. That also works for f16: its magnitudes have the same order, and no f16 number has the bits
// of a bf16 NaN.

/// The largest magnitude of 16 bytes; for 16-bit types separately for the even and the odd
/// elements, in the two halves of the word. NaN is ignored unless there is nothing else; infinity
/// is not.
template <u32 kVector>
__device__ __forceinline__ u32 largest_halves(const u32 (&raw)[4]) {
  if constexpr (kVector == 4) {
    const auto size = [&](u32 w) { return fabsf(__uint_as_float(raw[w])); };
    return __float_as_uint(fmaxf(fmaxf(size(0), size(1)), fmaxf(size(2), size(3))));
  } else {
    constexpr u32 kSize = 0x7fff7fffu;
    return ptx::max_bf16(ptx::max_bf16(raw[0] & kSize, raw[1] & kSize),
                         ptx::max_bf16(raw[2] & kSize, raw[3] & kSize));
  }
}
template <u32 kVector>
__device__ __forceinline__ u32 larger_halves(u32 a, u32 b) {
  if constexpr (kVector == 4)
    return max(a, b);
  else
    return ptx::max_bf16(a, b);
}
template <u32 kVector>
__device__ __forceinline__ bool halves_finite(u32 halves, u32 infinity) {
  if constexpr (kVector == 4)
    return halves < infinity;
  else
    return (halves & 0xffffu) < infinity && halves >> 16 < infinity;
}

/// The largest finite magnitude of 16 bytes. The slow path for vectors with infinities or only NaN.
template <u32 kVector>
__device__ __forceinline__ u32 largest_finite(const u32 (&raw)[4], u32 infinity) {
  u32 top = 0;
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

template <u32 kVector>
__device__ __forceinline__ u32 largest_magnitude(const u32 (&raw)[kQuantizeAccesses][4],
                                                 u32 infinity) {
  u32 halves = largest_halves<kVector>(raw[0]);
#pragma unroll
  for (u32 f = 1; f < kQuantizeAccesses; ++f)
    halves = larger_halves<kVector>(halves, largest_halves<kVector>(raw[f]));
  if (halves_finite<kVector>(halves, infinity))
    return kVector == 4 ? halves : max(halves & 0xffffu, halves >> 16);
  u32 top = 0;
#pragma unroll
  for (u32 f = 0; f < kQuantizeAccesses; ++f)
    top = max(top, largest_finite<kVector>(raw[f], infinity));
  return top;
}

template <u32 kVector>
__device__ __forceinline__ float magnitude_value(u32 format, u32 magnitude) {
  if constexpr (kVector == 4) return __uint_as_float(magnitude);
  return format == kFormatBF16 ? __uint_as_float(magnitude << 16)
                               : ptx::f16_to_float(static_cast<unsigned short>(magnitude));
}

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

__device__ __forceinline__ u32 warp_largest(u32 top) {
  return __reduce_max_sync(kFullWarpMask, top);
}

/// Returns the largest value of the block to all its threads. `warp_tops` has one word per warp.
/// The block must synchronize before the next call with the same `warp_tops`.
template <u32 kWarps>
__device__ __forceinline__ u32 block_largest(u32 top, u32 (&warp_tops)[kWarps]) {
  top = warp_largest(top);
  if (ptx::lane_id() == 0) warp_tops[threadIdx.x / 32] = top;
  ptx::sync_block();
  const u32 lane = ptx::lane_id();
  return warp_largest(lane < kWarps ? warp_tops[lane] : 0);
}

__device__ __forceinline__ float load_scale(u64 address) {
  return __uint_as_float(ptx::load_after_wait<4>(address));
}

__device__ __forceinline__ float region_scale(const QuantizeArgs& args, float amax) {
  return quantize_scale(amax, args.limit, quantize_has(args, kQuantizePowersOfTwo));
}

__device__ __forceinline__ u64 row_address(u64 matrix, i64 pitch, u32 row) {
  return matrix + static_cast<u64>(static_cast<i64>(row) * pitch);
}

/// This thread's vectors of a warp's tile. kSrc and kDst are the bytes of a vector.
template <u32 kVector, u32 kSrc, u32 kDst>
struct WarpTile {
  static constexpr u32 kLanes = kGroupLanes<kVector>;
  static constexpr u32 kAccessGroups = kGroupsPerAccess<kVector>;
  const QuantizeArgs& args;
  u32 row, group;   // of the first vector
  u32 lane;         // within the group
  u32 count;        // vectors inside the matrix
  u32 group_count;  // vectors whose group is inside the matrix
  u64 src, dst;

  __device__ __forceinline__ WarpTile(const QuantizeArgs& arguments, u32 tile) : args(arguments) {
    const u32 tile_row = divide(tile, args.tiles_across);
    const u32 tile_column = tile - tile_row * args.tiles_across.divisor;
    lane = ptx::lane_id() % kLanes;
    const bool spans_rows = quantize_has(args, kQuantizeTileSpansRows);
    row = spans_rows ? tile_row * kQuantizeAccesses : tile_row;
    group = tile_column * (spans_rows ? kAccessGroups : kAccessGroups * kQuantizeAccesses) +
            ptx::lane_id() / kLanes;
    const u32 column = group * kQuantizeGroup + lane * kVector;
    // A vector is entirely inside or outside, because the row length is a multiple of kVector.
    count = accesses_inside(spans_rows, column);
    group_count = accesses_inside(spans_rows, group * kQuantizeGroup);
    src = row_address(args.src, args.src_pitch, row) + static_cast<u64>(column) * (kSrc / kVector);
    dst = row_address(args.dst, args.dst_pitch, row) + static_cast<u64>(column) * (kDst / kVector);
  }

  // Number of the tile's accesses that are inside the matrix, if the first one is at `column`.
  __device__ __forceinline__ u32 accesses_inside(bool spans_rows, u32 column) const {
    constexpr u32 kStep = kAccessGroups * kQuantizeGroup;
    if (column >= args.columns) return 0;
    return min(kQuantizeAccesses,
               spans_rows ? args.rows - row : (args.columns - column + kStep - 1) / kStep);
  }

  /// Loads the vectors; those outside the matrix are zero.
  __device__ __forceinline__ void load(u32 (&raw)[kQuantizeAccesses][4]) const {
    u64 from = src;
#pragma unroll
    for (u32 f = 0; f < kQuantizeAccesses; ++f) {
      raw[f][0] = raw[f][1] = raw[f][2] = raw[f][3] = 0;
      if (f < count) ptx::load_once<kSrc>(from, args.src_policy, raw[f]);
      from += static_cast<u64>(args.src_step);
    }
  }
  /// `words_of(f, words)` computes the words to store for vector f.
  template <class WordsOf>
  __device__ __forceinline__ void store(WordsOf words_of) const {
    u64 to = dst;
#pragma unroll
    for (u32 f = 0; f < kQuantizeAccesses; ++f) {
      u32 words[4];
      words_of(f, words);
      if (f < count) ptx::store_words<kDst>(to, words, args.dst_policy);
      to += static_cast<u64>(args.dst_step);
    }
  }
  __device__ __forceinline__ u64 scale_address(u32 access) const {
    return quantize_scale_address(args, row >> args.scale_row_shift, group) +
           static_cast<u64>(static_cast<i64>(access) * args.scale_step);
  }
};
template <u32 kVector>
using QuantizeTile = WarpTile<kVector, 16, kVector>;
template <u32 kVector>
using DequantizeTile = WarpTile<kVector, kVector, 16>;

/// Calls body for each tile of this warp. The warps of the grid take tiles in turn.
template <class Body>
__device__ __forceinline__ void each_tile(const QuantizeArgs& args, Body body) {
  for (u32 tile = blockIdx.x * kQuantizeWarpsPerBlock + threadIdx.x / 32; tile < args.tiles;
       tile += gridDim.x * kQuantizeWarpsPerBlock)
    body(quantize_has(args, kQuantizeReverseTiles) ? args.tiles - 1 - tile : tile);
}

}  // namespace tw
