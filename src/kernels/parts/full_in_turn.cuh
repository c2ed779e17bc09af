// SPDX-License-Identifier: Apache-2.0
#pragma once
// The full epilogue of the longer functions, gated or not, without C, on its way to the copy
// engine.

#include "kernels/parts/full_fragment.cuh"

namespace tw {

/// v of part `place`, whose columns are `span` of v's.
template <class In, class Out, bool kAcross, int kPieces, int kSums>
__device__ __forceinline__ void fragment_biased(const float (&d)[kPieces][kSums], int place,
                                                const GemmFullArgs& args, const FullRun& run,
                                                u32 lane, i32 line, FragmentSpan span,
                                                float (&v)[kPartValues<Out>]) {
  float along[2], across[2] = {};
  fragment_bias<In, Out>(args, lane, span, along);
  if (kAcross) fragment_bias_across<In>(args, run, lane, line, across);
  fragment_take<Out>(d, place, v);
  fragment_before<Out, kAcross, false>(
      v, run, [&](int j, int e) { return fragment_column(along, lane, j, e); }, across,
      [](int) { return 0.0f; });
}

/// Gated, columns lie `half` apart and a tile has as many of both. `kMore`: with more than a bias
/// along D's lines. A loop has its code for itself, since what it jumps over it fetches too.
template <class In, class Out, u32 kWhich, bool kGated, bool kMore, int kPieces, int kSums>
__device__ __forceinline__ void fragment_in_turn(const float (&d)[kPieces][kSums],
                                                 const GemmFullArgs& args, const FullRun& run,
                                                 FragmentOut out, u32& turn, u32& largest) {
  constexpr int kValues = kPartValues<Out>;
  constexpr int kParts = kSums / kValues;  // of a piece
  constexpr int kOfD = kGated ? kParts / 2 : kParts;
  static_assert(kOfD % kPartsOfSlab == 0, "whole slabs");
#pragma unroll 1
  for (int step = 0; step < kPieces * kOfD; ++step) {
    const u32 lane = ptx::lane_id_again();
    const int piece = step / kOfD, place = piece * kParts + step % kOfD;
    const i32 line = out.line + piece * 64;
    const i32 at = out.at + step % kOfD * kPartColumns<Out>;
    const int part = step % kPartsOfSlab;
    if (line >= run.lines || at - part * kPartColumns<Out> >= run.extent) continue;
    const i32 count = run.extent - at;
    float v[kValues];
    fragment_biased<In, Out, kMore>(d, place, args, run, lane, line, {at, count}, v);
    fragment_activate<kWhich>(v);
    if constexpr (kGated) {
      float through[kValues];
      fragment_biased<In, Out, kMore>(d, place + kOfD, args, run, lane, line,
                                      {at + args.half, count}, through);
#pragma unroll
      for (int i = 0; i < kValues; ++i) v[i] *= through[i];
    }
    if constexpr (kMore) {
      float along[2], across[2];
      fragment_scales<Out>(args, lane, {at, count}, along);
      fragment_scale_across(args, run, lane, line, across);
      fragment_scale<Out>(v, lane, along, across);
      fragment_largest<Out>(v, run, lane, line, count, largest);
    }
    fragment_send<Out>(v, out, lane, line, at, part, turn);
  }
}

/// Whether there is such a way for what is asked for.
__device__ __forceinline__ bool full_goes_in_turn(const GemmFullArgs& args, const FullRun& run) {
  if (run.beta != 0.0f) return false;
  if (args.gate == kGateNone) return args.activation > kActRelu;
  return args.gate == kGateHalves && args.activation == kActSilu && !full_has_more(args);
}

template <class In, class Out, bool kMore, int kPieces, int kSums>
__device__ __forceinline__ void fragment_by_function(const float (&d)[kPieces][kSums],
                                                     const GemmFullArgs& args, const FullRun& run,
                                                     FragmentOut out, u32& turn, u32& largest) {
  if (args.activation == kActGelu)
    fragment_in_turn<In, Out, kActGelu, false, kMore>(d, args, run, out, turn, largest);
  else if (args.activation == kActGeluTanh)
    fragment_in_turn<In, Out, kActGeluTanh, false, kMore>(d, args, run, out, turn, largest);
  else
    fragment_in_turn<In, Out, kActSilu, false, kMore>(d, args, run, out, turn, largest);
}

template <class In, class Out, int kPieces, int kSums>
__device__ __forceinline__ void full_in_turn(const float (&d)[kPieces][kSums],
                                             const GemmFullArgs& args, const FullRun& run,
                                             FragmentOut out, u32& turn, u32& largest) {
  if (args.gate == kGateHalves)
    fragment_in_turn<In, Out, kActSilu, true, false>(d, args, run, out, turn, largest);
  else if (full_has_more(args))
    fragment_by_function<In, Out, true>(d, args, run, out, turn, largest);
  else
    fragment_by_function<In, Out, false>(d, args, run, out, turn, largest);
}

}  // namespace tw
