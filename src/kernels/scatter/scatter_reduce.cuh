// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions element by element, for rows of any alignment. Combinations without an instruction use
// compare-and-swap with the same result as TMA reductions.

#include "kernels/ptx/reduce.cuh"
#include "kernels/ptx/types.cuh"
#include "kernels/rows/row_lanes.cuh"
#include "kernels/scatter/reduce_dispatch.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

/// Minimum or maximum. A single NaN operand is ignored; two NaNs give the canonical NaN.
template <class Float>
__device__ __forceinline__ Float min_or_max(bool least, Float a, Float b) {
  if constexpr (sizeof(Float) == 8)
    return least ? fmin(a, b) : fmax(a, b);
  else
    return least ? fminf(a, b) : fmaxf(a, b);
}

template <class T>
struct MinMaxBits {
  using Bits = unsigned short;
  static __device__ __forceinline__ Bits combine(bool least, Bits a, Bits b) {
    return T::from_float(min_or_max(least, T::to_float(a), T::to_float(b)));
  }
};
template <>
struct MinMaxBits<float> {
  using Bits = u32;
  static __device__ __forceinline__ Bits combine(bool least, Bits a, Bits b) {
    return __float_as_uint(min_or_max(least, __uint_as_float(a), __uint_as_float(b)));
  }
};
template <>
struct MinMaxBits<double> {
  using Bits = u64;
  static __device__ __forceinline__ Bits combine(bool least, Bits a, Bits b) {
    return static_cast<u64>(
        __double_as_longlong(min_or_max(least, __longlong_as_double(static_cast<i64>(a)),
                                        __longlong_as_double(static_cast<i64>(b)))));
  }
};

template <class T>
__device__ __forceinline__ void exchange(u64 global, bool least,
                                         typename MinMaxBits<T>::Bits operand) {
  typename MinMaxBits<T>::Bits expected = operand;
  for (;;) {
    // The first iteration guesses the current value, later iterations know it.
    const auto wanted = MinMaxBits<T>::combine(least, expected, operand);
    const auto found = ptx::compare_swap(global, expected, wanted);
    if (found == expected) return;
    expected = found;
  }
}

template <int kBytes>
__device__ __forceinline__ void reduce_element(u32 op, u32 element, u64 to,
                                               ptx::Unit<kBytes> value) {
  const bool least = op == kReduceMin;
  if constexpr (kBytes == 2) {
    switch (reduction_of(op, element)) {
      case reduction_of(kReduceAdd, kElementF16):
        return ptx::reduce_add_f16(to, value);
      case reduction_of(kReduceAdd, kElementBF16):
        return ptx::reduce_add_bf16(to, value);
      default:
        return element == kElementF16 ? exchange<F16>(to, least, value)
                                      : exchange<Bf16>(to, least, value);
    }
  }
  if constexpr (kBytes == 4) {
    switch (reduction_of(op, element)) {
      case reduction_of(kReduceAdd, kElementF32):
        return ptx::reduce_add_f32(to, __uint_as_float(value));
      case reduction_of(kReduceAdd, kElementU32):
      case reduction_of(kReduceAdd, kElementI32):
        return ptx::reduce_add_u32(to, value);
      case reduction_of(kReduceMin, kElementU32):
        return ptx::reduce_min_u32(to, value);
      case reduction_of(kReduceMax, kElementU32):
        return ptx::reduce_max_u32(to, value);
      case reduction_of(kReduceMin, kElementI32):
        return ptx::reduce_min_s32(to, static_cast<i32>(value));
      case reduction_of(kReduceMax, kElementI32):
        return ptx::reduce_max_s32(to, static_cast<i32>(value));
      default:
        return exchange<float>(to, least, value);
    }
  }
  if constexpr (kBytes == 8) {
    switch (reduction_of(op, element)) {
      case reduction_of(kReduceAdd, kElementF64):
        return ptx::reduce_add_f64(to, __longlong_as_double(static_cast<i64>(value)));
      case reduction_of(kReduceAdd, kElementU64):
      case reduction_of(kReduceAdd, kElementI64):
        return ptx::reduce_add_u64(to, value);
      case reduction_of(kReduceMin, kElementU64):
        return ptx::reduce_min_u64(to, value);
      case reduction_of(kReduceMax, kElementU64):
        return ptx::reduce_max_u64(to, value);
      case reduction_of(kReduceMin, kElementI64):
        return ptx::reduce_min_s64(to, static_cast<i64>(value));
      case reduction_of(kReduceMax, kElementI64):
        return ptx::reduce_max_s64(to, static_cast<i64>(value));
      default:
        return exchange<double>(to, least, value);
    }
  }
}

template <int kBytes>
__device__ __forceinline__ void reduce_units(const ScatterArgs& args) {
  const u32 teams = kRowsBlockThreads / args.lanes;  // of args.lanes threads
  const u64 per_block = static_cast<u64>(teams) * kRowsLaneFlight;
  const u64 items = static_cast<u64>(run_count(args)) * args.parts;
  for (u64 item = blockIdx.x * per_block + threadIdx.x / args.lanes; item < items;
       item += gridDim.x * per_block) {
    LanePlace place[kRowsLaneFlight];
    ptx::Unit<kBytes> value[kRowsLaneFlight];
#pragma unroll
    for (int k = 0; k < kRowsLaneFlight; ++k)
      place[k] = lane_place(args, item + static_cast<u64>(k) * teams, items);
#pragma unroll
    for (int k = 0; k < kRowsLaneFlight; ++k)
      if (place[k].row != kNoRow) value[k] = ptx::load_unit<kBytes>(place[k].packed);
#pragma unroll
    for (int k = 0; k < kRowsLaneFlight; ++k)
      if (place[k].row != kNoRow)
        reduce_element<kBytes>(
            args.op, args.element,
            args.table + static_cast<u64>(place[k].row * args.table_pitch) + place[k].offset,
            value[k]);
  }
}

__device__ __forceinline__ void scatter_reduce(const ScatterArgs& args) {
  switch (args.unit_bytes) {
    case 2:
      return reduce_units<2>(args);
    case 4:
      return reduce_units<4>(args);
    default:
      return reduce_units<8>(args);
  }
}

}  // namespace tw
