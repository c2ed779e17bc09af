// SPDX-License-Identifier: Apache-2.0
#pragma once
// The general form of the epilogue kernels' epilogue: every option, selected by branches. See
// full_fragment.cuh.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/epilogue/full_fragment.cuh"

namespace tw {

/// Computes v (before the activation) for fragment `place` of the accumulators.
template <class In, class Out, int kRowBlocks, int kAccumulators>
__device__ __forceinline__ void fragment_load(const float (&d)[kRowBlocks][kAccumulators],
                                              int place, const GemmEpilogueArgs& args,
                                              const FullRun& run, u32 lane, i32 line,
                                              FragmentSpan span, float (&v)[kFragmentValues<Out>]) {
  float along[2], across[2], c[kFragmentValues<Out>] = {};
  fragment_bias<In, Out>(args, lane, span, along);
  fragment_bias_across<In>(args, run, lane, line, across);
  if (run.beta != 0.0f) {
    const auto column = static_cast<i32>(lane % 4 * 2);
#pragma unroll
    for (i32 i = 0; i < kFragmentValues<Out>; ++i) {
      const i32 own = line + static_cast<i32>(lane / 4) + (i & 2) * 4;
      const i32 at = column + i / 4 * 8 + (i & 1);
      if (own < run.lines && at < span.count)
        c[i] = Out::to_float(*reinterpret_cast<const typename Out::Storage*>(
            full_c<Out>(args, run, {own, span.from + at, 1})));
    }
  }
  fragment_take<Out>(d, place, v);
  const auto column = [&](int j, int e) { return fragment_column(along, lane, j, e); };
  if (run.beta != 0.0f)
    fragment_linear<true, true>(v, run, column, across, [&](int i) { return c[i]; });
  else
    fragment_linear<true, false>(v, run, column, across, [&](int i) { return c[i]; });
}

/// Moves results of an interleaved gate to the fragment's layout. Before, value 2 j + h is column
/// 4 j + lane % 4 of the lane's line h.
template <int kCount>
__device__ __forceinline__ void fragment_deinterleave(float (&v)[kCount], u32 lane) {
  float closed[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int j = i / 4, e = i & 1, half = (i & 2) / 2;
    const auto from = static_cast<int>(lane / 4 * 4 + lane % 2 * 2) + e;
    const float low = __shfl_sync(0xffffffffu, v[4 * j + half], from);
    const float high = __shfl_sync(0xffffffffu, v[4 * j + 2 + half], from);
    closed[i] = lane % 4 < 2 ? low : high;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) v[i] = closed[i];
}

/// Computes v (before the activation) of the fragment of D at (line, at): the gate elements and the
/// value elements. Without a gate the latter are 1.
template <class In, class Out, int kRowBlocks, int kAccumulators>
__device__ __forceinline__ void fragment_gate(const float (&d)[kRowBlocks][kAccumulators],
                                              int row_block, int fragment,
                                              const GemmEpilogueArgs& args, const FullRun& run,
                                              u32 lane, i32 line, i32 at,
                                              float (&v)[kFragmentValues<Out>],
                                              float (&value_elements)[kFragmentValues<Out>]) {
  constexpr int kValues = kFragmentValues<Out>;
  constexpr int kFragments = kAccumulators / kValues;
  const i32 count = run.extent - at;
  if (args.gate != kGateInterleaved) {
    const int place = row_block * kFragments + fragment;
    fragment_load<In, Out>(d, place, args, run, lane, line, {at, count}, v);
#pragma unroll
    for (float& value : value_elements) value = 1.0f;
    if (args.gate == kGateHalves)
      fragment_load<In, Out>(d, place + kFragments / 2, args, run, lane, line,
                             {at + args.half, count}, value_elements);
    return;
  }
#pragma unroll
  for (int second = 0; second < 2; ++second) {
    float w[kValues];
    const i32 offset = second * kFragmentColumns<Out>;
    fragment_load<In, Out>(d, row_block * kFragments + 2 * fragment + second, args, run, lane, line,
                           {2 * at + offset, 2 * count - offset}, w);
#pragma unroll
    for (int i = 0; i < kValues / 2; ++i) {
      v[second * (kValues / 2) + i] = w[2 * i];
      value_elements[second * (kValues / 2) + i] = w[2 * i + 1];
    }
  }
}

/// Writes a fragment by plain stores, in pairs if D is aligned to them.
template <class Out>
__device__ __forceinline__ void fragment_write(const float (&v)[kFragmentValues<Out>],
                                               const GemmEpilogueArgs& args, const FullRun& run,
                                               u32 lane, i32 line, i32 at) {
  using Storage = typename Out::Storage;
  const i32 columns = run.extent - at - static_cast<i32>(lane % 4 * 2);
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    const i32 own = line + static_cast<i32>(lane / 4) + 8 * half;
    if (own >= run.lines) continue;
    const i64 first = own * args.base.d_stride_m + at + static_cast<i32>(lane % 4 * 2);
    auto* to = reinterpret_cast<Storage*>(run.d) + first;
    const bool pairs = reinterpret_cast<u64>(to) % (2 * Out::kBytes) == 0;
#pragma unroll
    for (i32 j = 0; j < kFragmentColumns<Out> / 8; ++j) {
      const float low = v[4 * j + 2 * half], high = v[4 * j + 2 * half + 1];
      if (pairs && 8 * j + 1 < columns) {
        if constexpr (Out::kBytes == 2)
          *reinterpret_cast<u32*>(to + 8 * j) = Out::pack(low, high);
        else
          *reinterpret_cast<float2*>(to + 8 * j) = make_float2(low, high);
      } else {
        if (8 * j < columns) to[8 * j] = Out::from_float(low);
        if (8 * j + 1 < columns) to[8 * j + 1] = Out::from_float(high);
      }
    }
  }
}

/// Stages fragment `fragment` of a slab, whose first element is (line, at). With its last fragment
/// the slab is stored. Two slabs alternate; `slabs_written` counts those of the whole run.
template <class Slab>
__device__ __forceinline__ void fragment_send(const float (&v)[Slab::kValues],
                                              const FragmentOut& out, u32 lane, i32 line, i32 at,
                                              int fragment, u32& slabs_written) {
  const u32 slab = out.staging + slabs_written % 2 * Slab::kBytes;
  if (fragment == 0) store_wait_for_slabs<1>(lane);
  store_stage<Slab>(v, store_first_address<Slab>(lane, slab), static_cast<u32>(fragment));
  if (fragment != Slab::kFragments - 1) return;
  ptx::fence_async_shared();
  ptx::sync_warp();
  if (lane == 0) {
    ptx::store_tile(out.map, slab, at - fragment * Slab::kFragmentColumns, line, out.z);
    ptx::store_commit();
  }
  ++slabs_written;
}

/// Writes a warp's part of a tile. `stores`: through D's tensor map, else by plain stores.
template <class In, class Slab, int kRowBlocks, int kAccumulators>
__device__ __forceinline__ void full_general(const float (&d)[kRowBlocks][kAccumulators],
                                             const GemmEpilogueArgs& args, const FullRun& run,
                                             bool stores, const FragmentOut& out,
                                             u32& slabs_written, u32& largest) {
  using Out = typename Slab::Out;
  constexpr int kValues = Slab::kValues;
  static_assert(kValues == kFragmentValues<Out>,
                "a fragment must have 64 bytes per line in every slab");
  const int fragments =
      kAccumulators / kValues / (args.gate == kGateNone ? 1 : 2);  // of D in a row block
#pragma unroll 1
  for (int step = 0; step < kRowBlocks * fragments; ++step) {
    const u32 lane = ptx::reread_lane_id();
    const int row_block = step / fragments;
    const i32 line = out.line + row_block * 64;
    const i32 at = out.at + step % fragments * kFragmentColumns<Out>;
    const int fragment = step % Slab::kFragments;
    if (line >= run.lines) break;
    if (at - fragment * kFragmentColumns<Out> >= run.extent) continue;
    float v[kValues], value_elements[kValues], along[2], across[2];
    fragment_gate<In, Out>(d, row_block, step % fragments, args, run, lane, line, at, v,
                           value_elements);
    if (args.activation == kActRelu) fragment_activate<kActRelu>(v);
    if (args.activation == kActGelu) fragment_activate<kActGelu>(v);
    if (args.activation == kActGeluTanh) fragment_activate<kActGeluTanh>(v);
    if (args.activation == kActSilu) fragment_activate<kActSilu>(v);
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] *= value_elements[i];
    if (args.gate == kGateInterleaved) fragment_deinterleave(v, lane);
    if (args.d_factor_by != kFullNone) {
      fragment_d_factors<Out>(args, lane, {at, run.extent - at}, along);
      fragment_d_factor_across(args, run, lane, line, across);
      fragment_apply_d_factor<Out>(v, lane, along, across);
    }
    if (args.amax) fragment_largest(v, run, lane, line, run.extent - at, largest);
    if (stores)
      fragment_send<Slab>(v, out, lane, line, at, fragment, slabs_written);
    else
      fragment_write<Out>(v, args, run, lane, line, at);
  }
}

}  // namespace tw
