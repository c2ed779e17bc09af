// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of a row's units to f32 and back, and weighted sums of the rows of a stage.

#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/types.cuh"
#include "kernels/ptx/unit.cuh"
#include "kernels/rows/rows.h"

namespace tw {

/// Converts `kCount` elements of T to f32. pack() converts back and rounds to nearest even.
template <class T, u32 kCount>
__device__ __forceinline__ void unpack(const ptx::Unit<T::kBytes * kCount>& bits,
                                       float (&value)[kCount]) {
  if constexpr (kCount == 1) {
    if constexpr (T::kBytes == 4)
      value[0] = __uint_as_float(bits);
    else
      value[0] = T::to_float(bits);
  } else if constexpr (T::kBytes * kCount == 16) {
    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (u32 w = 0; w < 4; ++w) {
      if constexpr (T::kBytes == 4) {
        value[w] = __uint_as_float(words[w]);
      } else {
        value[2 * w] = T::to_float(static_cast<unsigned short>(words[w]));
        value[2 * w + 1] = T::to_float(static_cast<unsigned short>(words[w] >> 16));
      }
    }
  }
}

template <class T, u32 kCount>
__device__ __forceinline__ ptx::Unit<T::kBytes * kCount> pack(const float (&value)[kCount]) {
  static_assert(kCount == 1 || T::kBytes * kCount == 16, "a unit is an element or 16 bytes");
  if constexpr (kCount == 1) {
    if constexpr (T::kBytes == 4)
      return __float_as_uint(value[0]);
    else
      return T::from_float(value[0]);
  } else {
    u32 words[4];
#pragma unroll
    for (u32 w = 0; w < 4; ++w) {
      if constexpr (T::kBytes == 4)
        words[w] = __float_as_uint(value[w]);
      else
        words[w] = T::pack(value[2 * w], value[2 * w + 1]);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/// sum = w * v for the first term, else sum + w * v.
template <u32 kCount>
__device__ __forceinline__ void add_weighted(float (&sum)[kCount], const float (&v)[kCount],
                                             float w, bool first) {
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) sum[e] = first ? w * v[e] : fmaf(w, v[e], sum[e]);
}

/// Replaces row r of a stage by the weighted sum of its pieces r * group to r * group + group - 1,
/// in that order. In place: a sum overwrites only pieces that the warp has already read.
template <class T>
__device__ __forceinline__ void sum_stage_of(const RowsArgs& args, u32 stage, u32 weights,
                                             u32 rows) {
  constexpr u32 kCount = 16 / T::kBytes;
  const u32 row_units = args.part_bytes / 16;
  const u32 units = rows * row_units;
  for (u32 base = 0; base < units; base += 32) {
    const u32 unit = base + ptx::lane_id();
    const u32 row = divide(unit, args.unit_divider);
    const u32 inside = (unit - row * row_units) * 16;
    float sum[kCount] = {};
    if (unit < units) {
      for (u32 j = 0; j < args.group; ++j) {
        const u32 slot = row * args.group + j;
        float value[kCount];
        unpack<T, kCount>(ptx::shared_load<16>(stage + slot * args.part_bytes + inside), value);
        add_weighted(sum, value, __uint_as_float(ptx::shared_load<4>(weights + slot * 4)), j == 0);
      }
    }
    ptx::sync_warp();
    if (unit < units)
      ptx::shared_store<16>(stage + row * args.part_bytes + inside, pack<T, kCount>(sum));
    ptx::sync_warp();
  }
}

/// Sums `rows` rows of a stage. Called by the whole warp after its weights and pieces are visible.
__device__ __forceinline__ void sum_stage(const RowsArgs& args, u32 stage, u32 weights, u32 rows) {
  switch (args.packed_element) {
    case kElementF16:
      return sum_stage_of<F16>(args, stage, weights, rows);
    case kElementBF16:
      return sum_stage_of<Bf16>(args, stage, weights, rows);
    default:
      return sum_stage_of<F32>(args, stage, weights, rows);
  }
}

}  // namespace tw
