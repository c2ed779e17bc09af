// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of the epilogue kernels ("full" in names), for accumulators that lie in shared
// memory: those of split-K, stream-K and mma.sync kernels. It computes eight neighboring elements
// of a line of D at a time and writes them by plain stores. Bias, C, d_factor and D are accessed 16
// bytes at once if they are aligned. One body serves all options. FullRun, which every epilogue
// kernel needs, is here too. full_fragment.cuh has the epilogue in registers.

#include "kernels/gemm/arguments/gemm_live.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/types.cuh"

namespace tw {

/// A run's scalars, and one matrix of its batch.
struct FullRun {
  i32 lines, extent;  // lines of D to write, and elements of a line
  u64 c, d;
  float alpha, beta;
};

/// `lines` and `extent` are D's. Scalars are read from device memory if the run gives addresses.
__device__ __forceinline__ FullRun full_run(const GemmEpilogueArgs& args, i32 lines, i32 extent) {
  FullRun run;
  run.lines = lines;
  run.extent = extent;
  run.c = args.base.c;
  run.d = args.base.d;
  run.alpha = gemm_scalar(args.device_alpha, args.base.alpha);
  run.beta = gemm_scalar(args.device_beta, args.base.beta);
  return run;
}

/// The factor for all of D, or 1 if there is none or it varies. Read at each use, since
/// accumulators leave no register to keep it.
__device__ __forceinline__ float full_d_factor(const GemmEpilogueArgs& args) {
  if (args.d_factor_by != kFullSingle) return 1.0f;
  return gemm_scalar(args.d_factor, args.d_factor_value);
}

/// Sets C and D of product `z`, and the lines of D to write: none if the product is skipped.
template <class In, class Out>
__device__ __forceinline__ void full_matrix(const GemmEpilogueArgs& args, i32 z, i32 lines,
                                            FullRun* run) {
  const GemmMatrix matrix = gemm_matrix(args, z, In::kBytes, Out::kBytes);
  run->c = matrix.c;
  run->d = matrix.d;
  run->lines = matrix.d == 0 ? 0 : lines;
}

/// Eight neighboring elements of 16 or 32 bits as they are in memory. A loop that loads them for
/// its next round converts them there, so that it need not wait for them in this round.
template <class Type>
struct FullPieces {
  uint4 pieces[Type::kBytes / 2];

  __device__ __forceinline__ void load(u64 address) {
#pragma unroll
    for (u32 i = 0; i < Type::kBytes / 2; ++i)
      pieces[i] = reinterpret_cast<const uint4*>(address)[i];
  }
  __device__ __forceinline__ void convert(float (&v)[8]) const {
    const auto* words = &pieces[0].x;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if constexpr (Type::kBytes == 2)
        v[i] =
            Type::to_float(static_cast<typename Type::Storage>(words[i / 2] >> (i % 2 ? 16 : 0)));
      else
        v[i] = act::from_bits(words[i]);
    }
  }
};

/// Loads eight elements that are `step` apart. Only the first `count` exist; the others of v stay
/// unchanged.
template <class Type>
__device__ __forceinline__ void full_load(u64 address, i32 step, i32 count, float (&v)[8]) {
  const auto* from = reinterpret_cast<const typename Type::Storage*>(address);
  if (step == 1 && count >= 8 && address % (Type::kBytes == 1 ? 8 : 16) == 0) {
    if constexpr (Type::kBytes == 1) {
      const uint2 raw = *reinterpret_cast<const uint2*>(from);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        v[i] = Type::to_float(
            static_cast<typename Type::Storage>((i < 4 ? raw.x : raw.y) >> (i % 4 * 8)));
    } else {
      FullPieces<Type> elements;
      elements.load(address);
      elements.convert(v);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) v[i] = Type::to_float(from[i * step]);
}

/// Stores the first `count` of eight neighboring elements.
template <class Out>
__device__ __forceinline__ void full_store(u64 address, i32 count, const float (&v)[8]) {
  auto* to = reinterpret_cast<typename Out::Storage*>(address);
  if (count >= 8 && address % (Out::kBytes == 1 ? 8 : 16) == 0) {
    if constexpr (Out::kBytes == 2) {
      *reinterpret_cast<uint4*>(to) = make_uint4(Out::pack(v[0], v[1]), Out::pack(v[2], v[3]),
                                                 Out::pack(v[4], v[5]), Out::pack(v[6], v[7]));
    } else if constexpr (Out::kBytes == 1) {
      *reinterpret_cast<uint2*>(to) =
          make_uint2(Out::pack(v[0], v[1]) | Out::pack(v[2], v[3]) << 16,
                     Out::pack(v[4], v[5]) | Out::pack(v[6], v[7]) << 16);
    } else {
      *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
      *reinterpret_cast<float4*>(to + 4) = make_float4(v[4], v[5], v[6], v[7]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) to[i] = Out::from_float(v[i]);
}

// The type of a bias that is not f32: the operands' type if that has 16 bits, else bf16.
template <class In, u32 kBytes = In::kBytes>
struct FullBiasType {
  using Type = Bf16;
};
template <class In>
struct FullBiasType<In, 2> {
  using Type = In;
};
template <class In>
using FullBias = typename FullBiasType<In>::Type;

template <class Type>
__device__ __forceinline__ float full_element_of(u64 address, i32 at) {
  return Type::to_float(reinterpret_cast<const typename Type::Storage*>(address)[at]);
}

/// One element of a bias. `bias_type` is GemmEpilogueArgs::bias_type.
template <class In>
__device__ __forceinline__ float full_element(u64 address, u32 bias_type, i32 at) {
  if (In::kBytes != 2 && bias_type == kBiasF16) return full_element_of<F16>(address, at);
  if (bias_type != kBiasAsInput) return full_element_of<F32>(address, at);
  return full_element_of<FullBias<In>>(address, at);
}

/// Bias and d_factor of eight neighboring elements of D. With a gate, the bias is that of the gate
/// elements.
struct FullVectors {
  float bias[8];
  float d_factor[8];
};

/// Loads the bias along D's lines for eight elements of the matrix v (gemm_full.h) from `place` on.
template <class In>
__device__ __forceinline__ void full_bias(const GemmEpilogueArgs& args, FullPlace place, i32 count,
                                          float (&bias)[8]) {
  if (In::kBytes != 2 && args.bias_type == kBiasF16)
    full_load<F16>(args.bias + static_cast<u64>(place.at) * 2, place.step, count, bias);
  else if (args.bias_type != kBiasAsInput)
    full_load<F32>(args.bias + static_cast<u64>(place.at) * 4, place.step, count, bias);
  else
    full_load<FullBias<In>>(args.bias + static_cast<u64>(place.at) * 2, place.step, count, bias);
}

/// Bias and d_factor along D's lines for eight neighboring elements. full_across() loads a bias and
/// a d_factor that vary by line.
template <class In>
__device__ __forceinline__ void full_along(const GemmEpilogueArgs& args, const FullRun& run, i32 at,
                                           i32 count, FullVectors& vectors) {
  const float d_factor = full_d_factor(args);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    vectors.bias[i] = -0.0f;
    vectors.d_factor[i] = d_factor;
  }
  if (args.bias_by == kFullPerElement)
    full_bias<In>(args, full_place(args, 0, at, false), count, vectors.bias);
  if (args.d_factor_by == kFullPerElement)
    full_load<F32>(args.d_factor + static_cast<u64>(at) * 4, 1, count, vectors.d_factor);
}

/// Bias and d_factor of a line of D, where they vary by line.
struct FullAcross {
  float bias, d_factor;
};

template <class In>
__device__ __forceinline__ FullAcross full_across(const GemmEpilogueArgs& args, i32 line) {
  FullAcross across = {};
  if (args.bias_by == kFullPerLine)
    across.bias =
        full_element<In>(args.bias, args.bias_type, full_place(args, line, 0, false).line);
  if (args.d_factor_by == kFullPerLine)
    across.d_factor = reinterpret_cast<const float*>(args.d_factor)[line];
  return across;
}

/// Sets all eight elements to a line's bias or d_factor.
__device__ __forceinline__ void full_spread(const GemmEpilogueArgs& args, const FullAcross& across,
                                            FullVectors& vectors) {
  if (args.bias_by == kFullPerLine) {
#pragma unroll
    for (float& value : vectors.bias) value = across.bias;
  }
  if (args.d_factor_by == kFullPerLine) {
#pragma unroll
    for (float& value : vectors.d_factor) value = across.d_factor;
  }
}

/// The bias of a gate's value elements. It is read when it is needed, since it takes eight
/// registers.
template <class In>
__device__ __forceinline__ void full_second_bias(const GemmEpilogueArgs& args, FullPlace place,
                                                 i32 count, const FullVectors& vectors,
                                                 float (&bias)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) bias[i] = vectors.bias[i];
  if (args.bias_by == kFullPerElement) full_bias<In>(args, place, count, bias);
  if (args.bias_by == kFullPerLine && args.gate_across) {
    const float other = full_element<In>(args.bias, args.bias_type, place.line);
#pragma unroll
    for (float& value : bias) value = other;
  }
}

/// Address of C's elements for a place.
template <class Out>
__device__ __forceinline__ u64 full_c(const GemmEpilogueArgs& args, const FullRun& run,
                                      FullPlace place) {
  const i64 element = place.line * args.base.c_stride_m + place.at;
  return run.c + static_cast<u64>(element * Out::kBytes);
}

/// Turns eight elements of A B into those of the matrix v (gemm_full.h) from `place` on:
/// alpha * element + (beta * C + bias).
template <class Out, class TakeC>
__device__ __forceinline__ void full_linear(float (&elements)[8], const float (&bias)[8],
                                            const FullRun& run, FullPlace place, TakeC take_c) {
  float addend[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) addend[i] = bias[i];
  if (run.beta != 0.0f) {
    float c[8] = {};
    take_c(place, c);
#pragma unroll
    for (int i = 0; i < 8; ++i) addend[i] = act::fused(run.beta, c[i], addend[i]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) elements[i] = act::fused(run.alpha, elements[i], addend[i]);
}

template <u32 kWhich>
__device__ __forceinline__ void full_activate(float (&v)[8]) {
#pragma unroll
  for (float& value : v) value = activate(kWhich, value);
}

/// Computes eight neighboring elements of D from (line, at) on, of which `count` exist.
/// take(second, v) loads the accumulators of the gate elements, or of the value elements
/// (`second`); take_c(place, c) loads C; put(v) receives the result. `largest` becomes the bits of
/// the largest |D|, or of the largest |D| before d_factor (kLargestUnscaled). A NaN counts as the
/// largest.
template <class In, class Out, bool kLargestUnscaled, class Take, class TakeC, class Put>
__device__ __forceinline__ void full_make(const GemmEpilogueArgs& args, const FullRun& run,
                                          const FullVectors& vectors, i32 line, i32 at, i32 count,
                                          u32& largest, Take take, TakeC take_c, Put put) {
  float v[8];
  take(false, v);
  full_linear<Out>(v, vectors.bias, run, full_place(args, line, at, false), take_c);
  if (args.activation == kActRelu) full_activate<kActRelu>(v);
  if (args.activation == kActGelu) full_activate<kActGelu>(v);
  if (args.activation == kActGeluTanh) full_activate<kActGeluTanh>(v);
  if (args.activation == kActSilu) full_activate<kActSilu>(v);
  if (args.gate != kGateNone) {
    float value_elements[8], bias[8];
    take(true, value_elements);
    const FullPlace place = full_place(args, line, at, true);
    full_second_bias<In>(args, place, count, vectors, bias);
    full_linear<Out>(value_elements, bias, run, place, take_c);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] *= value_elements[i];
  }
  if (kLargestUnscaled && args.amax) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < count) largest = max(largest, act::bits(v[i]) & 0x7fffffffu);
  }
  if (args.d_factor_by != kFullNone) {
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] *= vectors.d_factor[i];
  }
  if (!kLargestUnscaled && args.amax) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < count) largest = max(largest, act::bits(v[i]) & 0x7fffffffu);
  }
  put(v);
}

/// full_make() with plain stores to D.
template <class In, class Out, class Take, class TakeC>
__device__ __forceinline__ void full_write(const GemmEpilogueArgs& args, const FullRun& run,
                                           const FullVectors& vectors, i32 line, i32 at, i32 count,
                                           u32& largest, Take take, TakeC take_c) {
  full_make<In, Out, false>(
      args, run, vectors, line, at, count, largest, take, take_c, [&](float(&v)[8]) {
        const i64 element = line * args.base.d_stride_m + at;
        full_store<Out>(run.d + static_cast<u64>(element * Out::kBytes), count, v);
      });
}

/// The same, but this function also loads bias, d_factor and C.
template <class In, class Out, class Take>
__device__ __forceinline__ void full_write(const GemmEpilogueArgs& args, const FullRun& run,
                                           i32 line, i32 at, i32 count, u32& largest, Take take) {
  FullVectors vectors;
  full_along<In>(args, run, at, count, vectors);
  full_spread(args, full_across<In>(args, line), vectors);
  full_write<In, Out>(args, run, vectors, line, at, count, largest, take,
                      [&](FullPlace place, float(&c)[8]) {
                        full_load<Out>(full_c<Out>(args, run, place), place.step, count, c);
                      });
}

/// Updates amax with the largest |D| at the end of a run. Whole warps call it. It is enough to
/// round the largest |D| to D's type, since rounding is monotonic.
template <class Out>
__device__ __forceinline__ void full_amax(const GemmEpilogueArgs& args, u32 largest) {
  if (!args.amax) return;
  const u32 all = __reduce_max_sync(0xffffffffu, largest);
  if (ptx::lane_id() != 0) return;
  const float rounded = Out::to_float(Out::from_float(act::from_bits(all)));
  atomicMax(reinterpret_cast<u32*>(args.amax), act::bits(rounded) & 0x7fffffffu);
}

/// Every other one of sixteen neighboring elements: the first, third and so on, or with `second`
/// the others.
__device__ __forceinline__ void full_every_other(const float (&low)[8], const float (&high)[8],
                                                 bool second, float (&v)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[i] = second ? low[2 * i + 1] : low[2 * i];
    v[i + 4] = second ? high[2 * i + 1] : high[2 * i];
  }
}

/// A warpgroup prefetches a piece of C into the L2: `lines` lines from line0, and of these
/// `columns` from at0. C's lines have `extent` elements.
template <class Out>
__device__ __forceinline__ void full_prefetch(const GemmEpilogueArgs& args, const FullRun& run,
                                              i32 line0, i32 at0, i32 lines, i32 columns,
                                              i32 extent) {
  constexpr i32 kTogether = 128 / static_cast<i32>(Out::kBytes);
  const i32 across = (columns + kTogether - 1) / kTogether;
#pragma unroll 1
  for (auto i = static_cast<i32>(threadIdx.x % 128); i < lines * across; i += 128) {
    const FullPlace place = {line0 + i / across, at0 + i % across * kTogether, 1};
    if (place.line < run.lines && place.at < extent)
      ptx::prefetch_line(full_c<Out>(args, run, place));
  }
}

/// The same for C of a tile without a gate.
template <class Out>
__device__ __forceinline__ void full_prefetch(const GemmEpilogueArgs& args, const FullRun& run,
                                              i32 line0, i32 at0, i32 lines, i32 columns) {
  if (run.beta == 0.0f || args.gate != kGateNone) return;
  full_prefetch<Out>(args, run, line0, at0, lines, columns, run.extent);
}

}  // namespace tw
