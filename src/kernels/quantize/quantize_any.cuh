// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantization at any alignment and pitch. Lanes process adjacent elements one by one. A region is
// read twice, the second time mostly from the cache.

#include "kernels/quantize/quantize_steps.cuh"

namespace tw {

inline constexpr u32 kQuantizeAtOnce = 4;  // elements of a thread in flight

__device__ __forceinline__ u32 load_bits(const QuantizeArgs& args, u32 row, u32 column) {
  const u32 bytes = quantize_bytes(args.src_format);
  return static_cast<u32>(ptx::load_own_element(
      row_address(args.src, args.src_pitch, row) + static_cast<u64>(column) * bytes, bytes,
      args.src_policy));
}
__device__ __forceinline__ void store_bits(const QuantizeArgs& args, u32 row, u32 column,
                                           u32 bits) {
  const u32 bytes = quantize_bytes(args.dst_format);
  ptx::store_element(row_address(args.dst, args.dst_pitch, row) + static_cast<u64>(column) * bytes,
                     bytes, bits, args.dst_policy);
}

/// Calls one(row, column, bits) for this thread's elements of a region. The region is processed by
/// one warp (`by_warp`) or by one block, whose warps take its rows in turn if it has several.
template <class One>
__device__ __forceinline__ void each_element(const QuantizeArgs& args, const QuantizeRegion& r,
                                             bool by_warp, One one) {
  const u32 warp = threadIdx.x / 32;
  const bool rows = !by_warp && args.region_rows > 1;
  const u32 row_step = rows ? kQuantizeWarpsPerBlock : 1;
  const u32 step = by_warp || rows ? 32 : kQuantizeThreads;
  const u32 first = step == 32 ? ptx::lane_id() : threadIdx.x;
#pragma unroll 1
  for (u32 row = r.first_row + (rows ? warp : 0); row < r.end_row; row += row_step)
#pragma unroll 1
    for (u32 column = r.first_column + first; column < r.end_column;
         column += step * kQuantizeAtOnce) {
      u32 bits[kQuantizeAtOnce] = {};
#pragma unroll
      for (u32 k = 0; k < kQuantizeAtOnce; ++k)
        if (column + k * step < r.end_column) bits[k] = load_bits(args, row, column + k * step);
#pragma unroll
      for (u32 k = 0; k < kQuantizeAtOnce; ++k)
        if (column + k * step < r.end_column) one(row, column + k * step, bits[k]);
    }
}

__device__ __forceinline__ u32 region_largest(const QuantizeArgs& args, const QuantizeRegion& r,
                                              bool by_warp) {
  u32 top = 0;
  each_element(args, r, by_warp,
               [&](u32, u32, u32 bits) { top = max(top, quantize_finite(args.src_format, bits)); });
  return top;
}

__device__ __forceinline__ void quantize_region_by(const QuantizeArgs& args,
                                                   const QuantizeRegion& r, bool by_warp,
                                                   float inverse) {
  each_element(args, r, by_warp, [&](u32 row, u32 column, u32 bits) {
    store_bits(args, row, column,
               quantize_element(args.src_format, args.dst_format, inverse, bits));
  });
}

/// The first region of this thread's warp or block, and the step to its next one.
__device__ __forceinline__ u32 first_region(bool by_warp) {
  return by_warp ? blockIdx.x * kQuantizeWarpsPerBlock + threadIdx.x / 32 : blockIdx.x;
}
__device__ __forceinline__ u32 region_step(bool by_warp) {
  return by_warp ? gridDim.x * kQuantizeWarpsPerBlock : gridDim.x;
}

__device__ __forceinline__ void quantize_regions(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[2][kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  const bool warps = quantize_has(args, kQuantizeWarps);
  u32 buffer = 0;
  for (u32 number = first_region(warps); number < args.regions; number += region_step(warps)) {
    const QuantizeRegion r = quantize_region(args, number);
    u32 top = region_largest(args, r, warps);
    top = warps ? warp_largest(top) : block_largest(top, warp_tops[buffer]);
    buffer ^= 1;
    const float scale = region_scale(args, decode(args.src_format, top));
    if (warps ? ptx::lane_id() == 0 : threadIdx.x == 0)
      ptx::store_unit<4>(quantize_scale_address(args, r.region_row, r.region_column),
                         __float_as_uint(scale));
    quantize_region_by(args, r, warps, quantize_inverse(scale));
  }
}

__device__ __forceinline__ void quantize_amax_any(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  u32 top = 0;
  for (u32 number = first_region(true); number < args.regions; number += region_step(true))
    top = max(top, region_largest(args, quantize_region(args, number), true));
  store_partial_amax(args, top, warp_tops);
}

__device__ __forceinline__ void quantize_cast_any(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  const float inverse = one_scale_inverse(args, warp_tops);
  const bool measures = one_scale_measures(args);
  u32 top = 0;
  for (u32 number = first_region(true); number < args.regions; number += region_step(true)) {
    const QuantizeRegion r = quantize_region(args, number);
    if (measures) top = max(top, region_largest(args, r, true));
    quantize_region_by(args, r, true, inverse);
  }
  if (measures) raise_amax(args, top);
}

/// Regions are 128 elements of a row, whatever region the scales cover.
__device__ __forceinline__ void quantize_dequantize_any(const QuantizeArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  for (u32 number = first_region(true); number < args.regions; number += region_step(true)) {
    const QuantizeRegion r = quantize_region(args, number);
    const float scale = load_scale(
        quantize_scale_address(args, r.region_row >> args.scale_row_shift, r.region_column));
    each_element(args, r, true, [&](u32 row, u32 column, u32 bits) {
      store_bits(args, row, column,
                 dequantize_element(args.src_format, args.dst_format, scale, bits));
    });
  }
}

}  // namespace tw
