// SPDX-License-Identifier: Apache-2.0
#pragma once
// The general form of the full epilogue: every option, selected by branches. See full_fragment.cuh.

#include "kernels/gemm/epilogue/full_fragment.cuh"

namespace tw {

/// Computes v (before the activation) of part `place` of the accumulators.
template <class In, class Out, int kPieces, int kAccumulators>
__device__ __forceinline__ void fragment_sums(const float (&d)[kPieces][kAccumulators], int place,
                                              const GemmEpilogueArgs& args, const FullRun& run,
                                              u32 lane, i32 line, FragmentSpan span,
                                              float (&v)[kPartValues<Out>]) {
  float along[2], across[2], c[kPartValues<Out>] = {};
  fragment_bias<In, Out>(args, lane, span, along);
  fragment_bias_across<In>(args, run, lane, line, across);
  if (run.beta != 0.0f) {
    const auto column = static_cast<i32>(lane % 4 * 2);
#pragma unroll
    for (i32 i = 0; i < kPartValues<Out>; ++i) {
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
    fragment_before<true, true>(v, run, column, across, [&](int i) { return c[i]; });
  else
    fragment_before<true, false>(v, run, column, across, [&](int i) { return c[i]; });
}

/// Moves results of a gate of neighbors to the fragment's layout. So far, value 2 j + h is column
/// 4 j + lane % 4 of the lane's line h.
template <int kCount>
__device__ __forceinline__ void fragment_close_up(float (&v)[kCount], u32 lane) {
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

/// Computes v (before the activation) of the part of D at (line, at), and a gate's factor, or 1.
template <class In, class Out, int kPieces, int kAccumulators>
__device__ __forceinline__ void fragment_gate(const float (&d)[kPieces][kAccumulators], int piece,
                                              int part, const GemmEpilogueArgs& args,
                                              const FullRun& run, u32 lane, i32 line, i32 at,
                                              float (&v)[kPartValues<Out>],
                                              float (&through)[kPartValues<Out>]) {
  constexpr int kValues = kPartValues<Out>;
  constexpr int kParts = kAccumulators / kValues;
  const i32 count = run.extent - at;
  if (args.gate != kGateNeighbours) {
    const int place = piece * kParts + part;
    fragment_sums<In, Out>(d, place, args, run, lane, line, {at, count}, v);
#pragma unroll
    for (float& value : through) value = 1.0f;
    if (args.gate == kGateHalves)
      fragment_sums<In, Out>(d, place + kParts / 2, args, run, lane, line, {at + args.half, count},
                             through);
    return;
  }
#pragma unroll
  for (int second = 0; second < 2; ++second) {
    float w[kValues];
    const i32 more = second * kPartColumns<Out>;
    fragment_sums<In, Out>(d, piece * kParts + 2 * part + second, args, run, lane, line,
                           {2 * at + more, 2 * count - more}, w);
#pragma unroll
    for (int i = 0; i < kValues / 2; ++i) {
      v[second * (kValues / 2) + i] = w[2 * i];
      through[second * (kValues / 2) + i] = w[2 * i + 1];
    }
  }
}

/// Writes a part by plain stores, in pairs if D is aligned to them.
template <class Out>
__device__ __forceinline__ void fragment_write(const float (&v)[kPartValues<Out>],
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
    for (i32 j = 0; j < kPartColumns<Out> / 8; ++j) {
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

/// Stages part `part` of a slab, whose first element is (line, at). The last part stores the slab.
/// Two slabs alternate; `turn` counts those of the whole run.
template <class Slab>
__device__ __forceinline__ void fragment_send(const float (&v)[Slab::kValues],
                                              const FragmentOut& out, u32 lane, i32 line, i32 at,
                                              int part, u32& turn) {
  const u32 slab = out.staging + turn % 2 * Slab::kBytes;
  if (part == 0) store_free<1>(lane);
  store_stage<Slab>(v, store_first<Slab>(lane, slab), static_cast<u32>(part));
  if (part != Slab::kParts - 1) return;
  ptx::fence_async_shared();
  ptx::sync_warp();
  if (lane == 0) {
    ptx::store_tile(out.map, slab, at - part * Slab::kPartColumns, line, out.z);
    ptx::store_commit();
  }
  ++turn;
}

/// Writes a warp's part of a tile. `stores`: through D's tensor map, else by plain stores.
template <class In, class Slab, int kPieces, int kAccumulators>
__device__ __forceinline__ void full_general(const float (&d)[kPieces][kAccumulators],
                                             const GemmEpilogueArgs& args, const FullRun& run,
                                             bool stores, const FragmentOut& out, u32& turn,
                                             u32& largest) {
  using Out = typename Slab::Out;
  constexpr int kValues = Slab::kValues;
  static_assert(kValues == kPartValues<Out>, "a part must have 64 bytes per line in every slab");
  const int parts = kAccumulators / kValues / (args.gate == kGateNone ? 1 : 2);  // of D in a piece
#pragma unroll 1
  for (int step = 0; step < kPieces * parts; ++step) {
    const u32 lane = ptx::lane_id_again();
    const int piece = step / parts;
    const i32 line = out.line + piece * 64;
    const i32 at = out.at + step % parts * kPartColumns<Out>;
    const int part = step % Slab::kParts;
    if (line >= run.lines) break;
    if (at - part * kPartColumns<Out> >= run.extent) continue;
    float v[kValues], through[kValues], along[2], across[2];
    fragment_gate<In, Out>(d, piece, step % parts, args, run, lane, line, at, v, through);
    if (args.activation == kActRelu) fragment_activate<kActRelu>(v);
    if (args.activation == kActGelu) fragment_activate<kActGelu>(v);
    if (args.activation == kActGeluTanh) fragment_activate<kActGeluTanh>(v);
    if (args.activation == kActSilu) fragment_activate<kActSilu>(v);
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] *= through[i];
    if (args.gate == kGateNeighbours) fragment_close_up(v, lane);
    if (args.scale_by != kFullNone) {
      fragment_scales<Out>(args, lane, {at, run.extent - at}, along);
      fragment_scale_across(args, run, lane, line, across);
      fragment_scale<Out>(v, lane, along, across);
    }
    if (args.amax) fragment_largest(v, run, lane, line, run.extent - at, largest);
    if (stores)
      fragment_send<Slab>(v, out, lane, line, at, part, turn);
    else
      fragment_write<Out>(v, args, run, lane, line, at);
  }
}

}  // namespace tw
