// SPDX-License-Identifier: Apache-2.0
#pragma once
// The full epilogue of bias, C in pairs, relu, scale and amax, on its way to the copy engine. The
// bias of a tile's columns is read at once; C is asked for a part before, as registers allow.

#include "kernels/parts/full_fragment.cuh"

namespace tw {

/// Two neighbours of C, as they lie in memory.
template <u32 kBytes>
struct FragmentPair {
  using Type = u32;
};
template <>
struct FragmentPair<4> {
  using Type = float2;
};

template <class Out>
struct FragmentAhead {
  typename FragmentPair<Out::kBytes>::Type c[kPartValues<Out> / 2];
};

template <class Out>
__device__ __forceinline__ void fragment_pairs(const GemmFullArgs& args, const FullRun& run,
                                               u32 lane, i32 line, FragmentSpan span,
                                               FragmentAhead<Out>& ahead) {
  using Pair = typename FragmentPair<Out::kBytes>::Type;
  const auto column = static_cast<i32>(lane % 4 * 2);
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    const i32 own = line + static_cast<i32>(lane / 4) + 8 * half;
    const u64 from = full_c<Out>(args, run, {own, span.from + column, 1});
#pragma unroll
    for (i32 j = 0; j < kPartColumns<Out> / 8; ++j) {
      Pair pair = {};
      if (own < run.lines && column + 8 * j < span.count)
        pair = *reinterpret_cast<const Pair*>(from + static_cast<u64>(8 * j) * Out::kBytes);
      ahead.c[2 * j + half] = pair;
    }
  }
}

template <class Out>
__device__ __forceinline__ float fragment_of_pair(u32 pair, int e) {
  return Out::to_float(static_cast<typename Out::Storage>(e == 0 ? pair & 0xffffu : pair >> 16));
}
template <class Out>
__device__ __forceinline__ float fragment_of_pair(float2 pair, int e) {
  return e == 0 ? pair.x : pair.y;
}

/// The bias of a tile's columns from `at` on: of each 64 a lane has two, 2 lane and the one beside
/// it.
template <class In, int kGroups>
__device__ __forceinline__ void fragment_bias_line(const GemmFullArgs& args, const FullRun& run,
                                                   i32 at, float (&line)[kGroups][2]) {
  const i32 own = at + static_cast<i32>(ptx::lane_id() * 2);
  const i32 extent = args.bias_by == kFullAlong ? run.extent : 0;
#pragma unroll
  for (i32 i = 0; i < 2 * kGroups; ++i) {
    const i32 column = own + i / 2 * 64 + i % 2;
    line[i / 2][i % 2] = -0.0f;
    if (column < extent)
      line[i / 2][i % 2] = full_element<In>(args.bias, args.bias_f32 != 0, column);
  }
}

/// `kMore`: there is more than a bias along D's lines (kBias), C (kC) and relu.
template <class In, class Out, bool kBias, bool kC, bool kMore, int kPieces, int kSums>
__device__ __forceinline__ void fragment_laid_out(const float (&d)[kPieces][kSums],
                                                  const GemmFullArgs& args, const FullRun& run,
                                                  FragmentOut out, u32& turn, u32& largest) {
  constexpr int kValues = kPartValues<Out>;
  constexpr int kParts = kSums / kValues;  // of a piece
  static_assert(kParts % kPartsOfSlab == 0, "whole slabs");
  constexpr bool kAhead = kC && !kMore && Out::kBytes == 2;  // as registers allow
  const float floor = args.activation == kActRelu ? 0.0f : act::from_bits(0xff800000u);
  FragmentAhead<Out> ahead;
  const auto ask = [&](int step, u32 lane) {
    const i32 at = out.at + step % kParts * kPartColumns<Out>;
    fragment_pairs<Out>(args, run, lane, out.line + step / kParts * 64, {at, run.extent - at},
                        ahead);
  };
  if (kAhead) ask(0, ptx::lane_id());
  float bias[(2 * kSums + 63) / 64][2] = {};
  if (kBias) fragment_bias_line<In>(args, run, out.at, bias);
#pragma unroll
  for (int step = 0; step < kPieces * kParts; ++step) {
    // Looked up anew: what follows from it would stay in registers beside the sums otherwise.
    const u32 lane = ptx::lane_id_again();
    const i32 line = out.line + step / kParts * 64;
    const int column0 = step % kParts * kPartColumns<Out>;
    const i32 at = out.at + column0;
    const int part = step % kPartsOfSlab;
    float v[kValues], across[2] = {};
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = d[step / kParts][step % kParts * kValues + i];
    if (kC && !kAhead) ask(step, lane);
    if (kMore) fragment_bias_across<In>(args, run, lane, line, across);
    fragment_before<Out, kMore, kC>(
        v, run,
        [&](int j, int e) {
          const int from = column0 % 64 / 2 + 4 * j + static_cast<int>(lane % 4);
          return kBias ? __shfl_sync(0xffffffffu, bias[column0 / 64][e], from) : -0.0f;
        },
        across,
        [&](int i) { return fragment_of_pair<Out>(ahead.c[i / 4 * 2 + (i & 2) / 2], i & 1); });
#pragma unroll
    for (float& value : v) value = act::larger(value, floor);
    if (kMore) {
      float along[2];
      fragment_scales<Out>(args, lane, {at, run.extent - at}, along);
      fragment_scale_across(args, run, lane, line, across);
      fragment_scale<Out>(v, lane, along, across);
      fragment_largest<Out>(v, run, lane, line, run.extent - at, largest);
    }
    if (kAhead && step + 1 < kPieces * kParts) ask(step + 1, lane);
    if (line < run.lines && at - part * kPartColumns<Out> < run.extent)
      fragment_send<Out>(v, out, lane, line, at, part, turn);
  }
}

/// Whether there is such a way for what is asked for: in f32, C and more are too many registers.
template <class Out>
__device__ __forceinline__ bool full_goes_laid_out(const GemmFullArgs& args, const FullRun& run) {
  if ((args.flags & kFullShort) == 0) return false;
  return Out::kBytes == 2 || run.beta == 0.0f || !full_has_more(args);
}

template <class In, class Out, int kPieces, int kSums>
__device__ __forceinline__ void full_laid_out(const float (&d)[kPieces][kSums],
                                              const GemmFullArgs& args, const FullRun& run,
                                              FragmentOut out, u32& turn, u32& largest) {
  const bool more = full_has_more(args), along = args.bias_by == kFullAlong;
  if (run.beta != 0.0f && more) {
    if constexpr (Out::kBytes == 2)
      fragment_laid_out<In, Out, true, true, true>(d, args, run, out, turn, largest);
  } else if (run.beta != 0.0f) {
    fragment_laid_out<In, Out, true, true, false>(d, args, run, out, turn, largest);
  } else if (more) {
    fragment_laid_out<In, Out, true, false, true>(d, args, run, out, turn, largest);
  } else if (along) {
    fragment_laid_out<In, Out, true, false, false>(d, args, run, out, turn, largest);
  } else {
    fragment_laid_out<In, Out, false, false, false>(d, args, run, out, turn, largest);
  }
}

}  // namespace tw
