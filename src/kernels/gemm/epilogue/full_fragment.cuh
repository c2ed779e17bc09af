// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue kernels' epilogue ("full") in registers. A warp handles a fragment of D at a time:
// 16 lines by 64 bytes, in the layout of wgmma's accumulators. Of the 16 lines a lane has two,
// eight apart, and in each the columns 8 j + 2 (lane % 4) and the one after.
//
// There are two forms, which give the same bits except for gelu_tanh (FullChunks::kFactor). In a
// warp that has its scheduler to itself, nothing hides loads or instruction cache misses. The
// common form (full_chunks.cuh) therefore has no branches and loads its inputs before the products.
// It computes options that are not asked for with neutral values: a bias of -0, a factor of 1, a
// maximum with minus infinity. The general form (full_general.cuh) has branches and supports the
// rest: unaligned C, rare gates, long activations with C, a D without a tensor map. Split-K gives
// the general form's bits.
//
// A bias or d_factor "along" D's lines has one value per element of a line, one "across" them has
// one value per line.

#include "kernels/gemm/epilogue/full_store.cuh"

namespace tw {

/// Columns of a slab and of a fragment, and a lane's values of a fragment.
template <class Out>
inline constexpr i32 kSlabColumns = 128 / static_cast<i32>(Out::kBytes);
template <class Out>
inline constexpr i32 kFragmentColumns = kSlabColumns<Out> / 2;
template <class Out>
inline constexpr int kFragmentValues = kFragmentColumns<Out> / 2;

/// The elements of bias and C for a fragment. A gate has two such spans for one fragment of D.
struct FragmentSpan {
  i32 from, count;
};

/// Lanes that hold two columns each of a fragment's bias and d_factor. The others read them by
/// shuffles.
template <class Out>
inline constexpr u32 kFragmentLanes = static_cast<u32>(kFragmentValues<Out>);

// Loads a lane's two columns of `count`, or `none` for those that do not exist.
template <class Load>
__device__ __forceinline__ void fragment_two(u32 lane, u32 lanes, i32 count, Load load, float none,
                                             float (&two)[2]) {
  const auto first = static_cast<i32>(lane * 2);
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    two[i] = none;
    if (lane < lanes && first + i < count) two[i] = load(first + i);
  }
}

template <class In, class Out>
__device__ __forceinline__ void fragment_bias(const GemmEpilogueArgs& args, u32 lane,
                                              FragmentSpan span, float (&bias)[2]) {
  if (args.bias_by != kFullPerElement) span.count = 0;
  fragment_two(
      lane, kFragmentLanes<Out>, span.count,
      [&](i32 i) {
        return full_element<In>(args.bias, args.bias_type != kBiasAsInput, span.from + i);
      },
      -0.0f, bias);
}

template <class Out>
__device__ __forceinline__ void fragment_d_factors(const GemmEpilogueArgs& args, u32 lane,
                                                   FragmentSpan span, float (&d_factor)[2]) {
  if (args.d_factor_by != kFullPerElement) span.count = 0;
  fragment_two(
      lane, kFragmentLanes<Out>, span.count,
      [&](i32 i) { return reinterpret_cast<const float*>(args.d_factor)[span.from + i]; }, 1.0f,
      d_factor);
}

/// The value of column 8 j + 2 (lane % 4) + e of the fragment, from the lane that holds it.
__device__ __forceinline__ float fragment_column(const float (&two)[2], u32 lane, int j, int e) {
  return __shfl_sync(0xffffffffu, two[e], 4 * j + static_cast<int>(lane % 4));
}

/// Bias of the lane's two lines if it varies by line, else -0.
template <class In>
__device__ __forceinline__ void fragment_bias_across(const GemmEpilogueArgs& args,
                                                     const FullRun& run, u32 lane, i32 line,
                                                     float (&bias)[2]) {
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    const i32 own = line + static_cast<i32>(lane / 4) + 8 * half;
    bias[half] = -0.0f;
    if (args.bias_by == kFullPerLine && own < run.lines)
      bias[half] = full_element<In>(args.bias, args.bias_type != kBiasAsInput, own);
  }
}

/// Scale of the lane's two lines if it varies by line, else the one for all of D.
__device__ __forceinline__ void fragment_d_factor_across(const GemmEpilogueArgs& args,
                                                         const FullRun& run, u32 lane, i32 line,
                                                         float (&d_factor)[2]) {
  const float all = full_d_factor(args);
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    const i32 own = line + static_cast<i32>(lane / 4) + 8 * half;
    d_factor[half] = all;
    if (args.d_factor_by == kFullPerLine && own < run.lines)
      d_factor[half] = reinterpret_cast<const float*>(args.d_factor)[own];
  }
}

/// v = alpha * v + (beta * C + bias). c(i) is C for value i; along(j, e) is the bias of column
/// 8 j + 2 (lane % 4) + e. At most one of `along` and `across` is a bias, the other is -0.
template <bool kAcross, bool kC, int kCount, class TakeAlong, class TakeC>
__device__ __forceinline__ void fragment_linear(float (&v)[kCount], const FullRun& run,
                                                TakeAlong along, const float (&across)[2],
                                                TakeC c) {
#pragma unroll
  for (int j = 0; j < kCount / 4; ++j) {
    const float column[2] = {along(j, 0), along(j, 1)};
#pragma unroll
    for (int i = 4 * j; i < 4 * j + 4; ++i) {
      float addend = column[i & 1];
      if (kAcross) addend += across[(i & 2) / 2];
      if (kC) addend = act::fused(run.beta, c(i), addend);
      v[i] = act::fused(run.alpha, v[i], addend);
    }
  }
}

template <u32 kWhich, int kCount>
__device__ __forceinline__ void fragment_activate(float (&v)[kCount]) {
#pragma unroll
  for (float& value : v) value = activate(kWhich, value);
}

/// Multiplies by `along` or `across`; the other one is 1.
template <class Out>
__device__ __forceinline__ void fragment_apply_d_factor(float (&v)[kFragmentValues<Out>], u32 lane,
                                                        const float (&along)[2],
                                                        const float (&across)[2]) {
#pragma unroll
  for (int j = 0; j < kFragmentColumns<Out> / 8; ++j) {
    const float column[2] = {fragment_column(along, lane, j, 0),
                             fragment_column(along, lane, j, 1)};
#pragma unroll
    for (int i = 4 * j; i < 4 * j + 4; ++i) v[i] *= column[i & 1] * across[(i & 2) / 2];
  }
}

/// Copies fragment `place` of the accumulators, by branches, since registers cannot be indexed.
template <class Out, int kPlace = 0, int kRowBlocks, int kAccumulators>
__device__ __forceinline__ void fragment_take(const float (&d)[kRowBlocks][kAccumulators],
                                              int place, float (&v)[kFragmentValues<Out>]) {
  constexpr int kFragments = kAccumulators / kFragmentValues<Out>;
  if (kPlace + 1 == kRowBlocks * kFragments || place == kPlace) {
#pragma unroll
    for (int i = 0; i < kFragmentValues<Out>; ++i)
      v[i] = ptx::moved(d[kPlace / kFragments][kPlace % kFragments * kFragmentValues<Out> + i]);
  } else if constexpr (kPlace + 1 < kRowBlocks * kFragments) {
    fragment_take<Out, kPlace + 1>(d, place, v);
  }
}

/// Updates `largest` with the values that lie inside D.
template <int kCount>
__device__ __forceinline__ void fragment_largest(const float (&v)[kCount], const FullRun& run,
                                                 u32 lane, i32 line, i32 count, u32& largest) {
  const i32 columns = count - static_cast<i32>(lane % 4 * 2);
  const i32 lines = run.lines - line - static_cast<i32>(lane / 4);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (i / 4 * 8 + (i & 1) < columns && (i & 2) * 4 < lines)
      largest = max(largest, act::bits(v[i]) & 0x7fffffffu);
}

/// Whether the epilogue has extras: a bias per line, a d_factor or amax.
__device__ __forceinline__ bool full_has_extras(const GemmEpilogueArgs& args) {
  return args.bias_by == kFullPerLine || args.d_factor_by != kFullNone || args.amax != 0;
}

/// Where a warp writes its part of a tile: D's map, staging memory, first element, and index in the
/// batch dimension.
struct FragmentOut {
  const KernelMap* map;
  u32 staging;
  i32 line, at, z;
};

}  // namespace tw
