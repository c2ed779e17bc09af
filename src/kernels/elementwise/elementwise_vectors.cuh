// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise operations on rows that are contiguous in every operand. In one turn, a thread loads
// kFlight vectors of kVector elements (16 bytes of the widest operand) and then computes them. The
// lanes of a warp take adjacent vectors, so that accesses to narrower operands coalesce as well.
// Vectors begin at multiples of their size in the destination, so the first and the last of a row
// can be partial.
//
// A launch's arguments select the element types, by a uniform branch for every few vectors.
// Templates over the types would make ten times as many kernels.

#include "kernels/common/convert.cuh"
#include "kernels/elementwise/element.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global_own.cuh"

namespace tw {

template <u32 kVector, u32 kFlight>
struct ThreadVectors {
  u64 address[kElementwiseOperands][kFlight];
  bool whole[kFlight];
  bool has_parts;  // some vector is only partly inside its row

  __device__ __forceinline__ ThreadVectors(const ElementwiseArgs& args, u32 at) : has_parts(false) {
    if (args.items == args.slots.divisor)  // as many vectors as a row has: there is one row
      place_in_one_row(args, at);
    else
      place(args, at);
  }

  __device__ __forceinline__ void place(const ElementwiseArgs& args, u32 at) {
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      const ElementwiseSlot s = elementwise_slot<kVector>(args, at + 32 * k);
#pragma unroll
      for (u32 o = 0; o < kElementwiseOperands; ++o) address[o][k] = s.address[o];
      whole[k] = s.end - s.first == kVector;
      has_parts = has_parts || (s.end != 0 && !whole[k]);
    }
  }

  // The same for a single row: the thread's vectors are a constant step apart.
  __device__ __forceinline__ void place_in_one_row(const ElementwiseArgs& args, u32 at) {
    const u64 lead_bytes = args.address[kOperandDst] & ((u64{kVector} << args.dst_shift) - 1);
    const i64 start =
        static_cast<i64>(at) * kVector - static_cast<i64>(lead_bytes >> args.dst_shift);
    const i64 rest = static_cast<i64>(args.row_elements) - start;
    const i32 remaining = rest < 1 << 30 ? static_cast<i32>(rest) : 1 << 30;
#pragma unroll
    for (u32 o = 0; o < kElementwiseOperands; ++o) {
      const u64 first = args.address[o] + static_cast<u64>(start * static_cast<i64>(args.bytes[o]));
#pragma unroll
      for (u32 k = 0; k < kFlight; ++k) address[o][k] = first + k * (32 * kVector * args.bytes[o]);
    }
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      constexpr auto kElements = static_cast<i32>(kVector);
      // Elements from the thread's vector 0 to its vector k.
      const i32 skipped = static_cast<i32>(32 * k) * kElements;
      // Only the row's first vector, which is vector 0 of a thread, can begin before the row.
      whole[k] = (k != 0 || start >= 0) && remaining >= skipped + kElements;
      has_parts = has_parts || (!whole[k] && remaining > skipped);
    }
  }

  template <u32 kBytes>
  __device__ __forceinline__ void load_as(u32 operand, u64 policy, u32 (&raw)[kFlight][4]) const {
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k)
      if (whole[k]) ptx::load_once<kBytes>(address[operand][k], policy, raw[k]);
  }

  /// Loads the whole vectors of an operand; `bytes` is the size of its elements.
  __device__ __forceinline__ void load(u32 operand, u32 bytes, u64 policy,
                                       u32 (&raw)[kFlight][4]) const {
    if (bytes * kVector == 16)
      load_as<16>(operand, policy, raw);
    else if (bytes * kVector == 8)
      load_as<8>(operand, policy, raw);
    else if constexpr (kVector == 4)
      load_as<4>(operand, policy, raw);
  }
};

/// Processes partial vectors at the ends of rows element by element, with the loads of four
/// elements in flight. one(a, b, before) returns the destination's bits. With kConvert there is
/// only source a.
template <u32 kVector, u32 kFlight, bool kConvert, class One>
__device__ __forceinline__ void elementwise_parts(const ElementwiseArgs& args, u32 at, One one) {
  constexpr u32 kAtOnce = 4;
#pragma unroll 1
  for (u32 k = 0; k < kFlight; ++k) {
    const ElementwiseSlot s = elementwise_slot<kVector>(args, at + 32 * k);
    if (s.end - s.first == kVector) continue;
#pragma unroll 1
    for (u32 first = s.first; first < s.end; first += kAtOnce) {
      u64 bits[kElementwiseOperands][kAtOnce] = {};
      const auto load = [&](u32 o, u32 e, u64 policy) {
        bits[o][e] = ptx::load_own_element(s.address[o] + (first + e) * args.bytes[o],
                                           args.bytes[o], policy);
      };
#pragma unroll
      for (u32 e = 0; e < kAtOnce; ++e) {
        if (first + e >= s.end) break;
        load(kOperandA, e, args.src_policy);
        if constexpr (kConvert) continue;
        if (args.sources == 2) load(kOperandB, e, args.src_policy);
        if (args.reduction != kReduceNone) load(kOperandDst, e, args.dst_policy);
      }
#pragma unroll
      for (u32 e = 0; e < kAtOnce; ++e) {
        if (first + e >= s.end) break;
        const u32 bytes = args.bytes[kOperandDst];
        ptx::store_element(s.address[kOperandDst] + (first + e) * bytes, bytes,
                           one(bits[kOperandA][e], bits[kOperandB][e], bits[kOperandDst][e]),
                           args.dst_policy);
      }
    }
  }
}

/// Applies an activation to all vectors. The branch is uniform.
template <u32 kFlight, u32 kVector>
__device__ __forceinline__ void activate_vectors(u32 which, float (&value)[kFlight][kVector]) {
  const auto each = [&](auto function) {
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k)
#pragma unroll
      for (u32 e = 0; e < kVector; ++e) value[k][e] = function(value[k][e]);
  };
  switch (which) {
    case kActRelu:
      return each([](float x) { return act::relu(x); });
    case kActGelu:
      return each([](float x) { return act::gelu(x); });
    case kActGeluTanh:
      return each([](float x) { return act::gelu_tanh(x); });
    case kActSilu:
      return each([](float x) { return act::silu(x); });
    default:
      return;
  }
}

/// Calls update(x, y) for each element x of `value` and the element y of source b, which `raw`
/// holds in `format`.
template <u32 kFlight, u32 kVector, class Update>
__device__ __forceinline__ void for_each_with_b(u32 format, const u32 (&raw)[kFlight][4],
                                                float (&value)[kFlight][kVector], Update update) {
  with_format<kVector>(format, [&](auto tag) {
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      float b[kVector];
      decode_vector<tag.kNumber, kVector>(raw[k], b);
#pragma unroll
      for (u32 e = 0; e < kVector; ++e) update(value[k][e], b[e]);
    }
  });
}

/// Converts results to the destination's format and reduces them into the old values.
template <u32 kFormat, u32 kVector>
__device__ __forceinline__ void finish_vector(const ElementwiseArgs& args, float (&value)[kVector],
                                              const u32 (&before)[4], u32 (&words)[4]) {
  encode_vector<kFormat, kVector>(value, args.saturate_at, words);
  if (args.reduction == kReduceNone) return;
  float old[kVector];
  decode_vector<kFormat, kVector>(before, old);
  decode_vector<kFormat, kVector>(words, value);
  if (args.reduction == kReduceAdd) {
#pragma unroll
    for (u32 e = 0; e < kVector; ++e) value[e] = old[e] + value[e];
  } else {
#pragma unroll
    for (u32 e = 0; e < kVector; ++e) value[e] = reduce_number(args.reduction, old[e], value[e]);
  }
  encode_vector<kFormat, kVector>(value, args.saturate_at, words);
}

/// Processes partial vectors of floating-point formats. Reads the factors again instead of keeping
/// them in registers.
template <u32 kVector, u32 kFlight, bool kConvert>
__device__ __forceinline__ void float_parts(const ElementwiseArgs& args, u32 at) {
  const Factors<float> by = float_factors(args);
  elementwise_parts<kVector, kFlight, kConvert>(args, at, [&](u64 a, u64 b, u64 before) -> u32 {
    if constexpr (kConvert)
      return convert_element(args, by.alpha, static_cast<u32>(a));
    else
      return float_element(args, by, static_cast<u32>(a), static_cast<u32>(b),
                           static_cast<u32>(before));
  });
}

/// The kernel for floating-point formats. With kConvert there is one source, no activation and no
/// reduction.
template <u32 kVector, bool kConvert>
__device__ __forceinline__ void elementwise_floats(const ElementwiseArgs& args) {
  constexpr u32 kFlight = kConvert ? elementwise_convert_flight(kVector) : kElementwiseFlight;
  constexpr u32 kTurn = kElementwiseThreads * kFlight;
  const u64 step = static_cast<u64>(gridDim.x) * kTurn;
  u64 at =
      static_cast<u64>(blockIdx.x) * kTurn + threadIdx.x / 32 * (32 * kFlight) + ptx::lane_id();
  for (; at < args.items; at += step) {
    const ThreadVectors<kVector, kFlight> turn(args, static_cast<u32>(at));
    u32 raw[kElementwiseOperands][kFlight][4] = {};
    turn.load(kOperandA, args.bytes[kOperandA], args.src_policy, raw[kOperandA]);
    if constexpr (!kConvert) {
      if (args.sources == 2)
        turn.load(kOperandB, args.bytes[kOperandB], args.src_policy, raw[kOperandB]);
      // Vectors of sixteen elements have 8-bit floats, which support no reduction.
      if (kVector < 16 && args.reduction != kReduceNone)
        turn.load(kOperandDst, args.bytes[kOperandDst], args.dst_policy, raw[kOperandDst]);
    }
    const Factors<float> by = float_factors(args);
    float value[kFlight][kVector] = {};
    with_format<kVector>(args.kind[kOperandA], [&](auto format) {
#pragma unroll
      for (u32 k = 0; k < kFlight; ++k)
        decode_vector<format.kNumber, kVector>(raw[kOperandA][k], value[k]);
    });
    const bool multiplies = !kConvert && args.combine == kCombineMultiply;
    if (!kConvert && args.sources == 2 && !multiplies) {
      for_each_with_b(args.kind[kOperandB], raw[kOperandB], value,
                      [&](float& x, float y) { x = fused(by.alpha, x, product(by.beta, y)); });
    } else {
#pragma unroll
      for (u32 k = 0; k < kFlight; ++k)
#pragma unroll
        for (u32 e = 0; e < kVector; ++e) value[k][e] = product(by.alpha, value[k][e]);
    }
    // With an activation, vectors have at most kActivatedVector elements.
    if constexpr (!kConvert && kVector <= kActivatedVector)
      activate_vectors(args.activation, value);
    if (multiplies)
      for_each_with_b(args.kind[kOperandB], raw[kOperandB], value,
                      [](float& x, float y) { x = product(x, y); });
    with_format<kVector>(args.kind[kOperandDst], [&](auto format) {
      constexpr u32 kFormat = decltype(format)::kNumber;
#pragma unroll
      for (u32 k = 0; k < kFlight; ++k) {
        u32 words[4];
        if constexpr (kConvert || decltype(format)::kBytes == 1)
          encode_vector<kFormat, kVector>(value[k], args.saturate_at, words);
        else
          finish_vector<kFormat, kVector>(args, value[k], raw[kOperandDst][k], words);
        if (turn.whole[k])
          ptx::store_words<kVector* decltype(format)::kBytes>(turn.address[kOperandDst][k], words,
                                                              args.dst_policy);
      }
    });
    if (turn.has_parts) float_parts<kVector, kFlight, kConvert>(args, static_cast<u32>(at));
  }
}

/// The type that holds an element of up to 4 or of 8 bytes.
template <u32 kBytes>
struct HolderOf {
  using Type = u32;
};
template <>
struct HolderOf<8> {
  using Type = u64;
};

template <u32 kBytes, class Holder>
__device__ __forceinline__ Holder element_at(const u32 (&words)[4], u32 e) {
  if constexpr (kBytes == 8)
    return static_cast<Holder>(words[2 * e + 1]) << 32 | words[2 * e];
  else
    return words[e];
}

template <u32 kBytes, class Holder>
__device__ __forceinline__ void put_element(u32 (&words)[4], u32 e, Holder value) {
  if constexpr (kBytes == 8) {
    words[2 * e] = static_cast<u32>(value);
    words[2 * e + 1] = static_cast<u32>(value >> 32);
  } else {
    words[e] = value;
  }
}

/// A vector of 1-byte or 2-byte integers. A lane is here one of the two or four integers that a
/// 32-bit operation computes at the same time.
template <u32 kBytes, bool kReduce>
__device__ __forceinline__ void lane_vector(const ElementwiseArgs& args, const u32 (&a)[4],
                                            const u32 (&b)[4], const u32 (&before)[4],
                                            u32 (&words)[4]) {
  const auto alpha = static_cast<u32>(args.alpha);
  const auto beta = static_cast<u32>(args.beta);
  const bool multiplies = args.combine == kCombineMultiply;
#pragma unroll
  for (u32 w = 0; w < 4; ++w) {
    // Beta is 0 unless two sources are added.
    const u32 x = multiplies ? multiply_lanes<kBytes>(a[w], b[w]) : a[w];
    words[w] = combine_lanes<kBytes>(alpha, beta, x, b[w]);
  }
  if constexpr (kReduce)
    reduce_lanes<kBytes>(args.reduction, args.kind[kOperandDst] == kTypeSigned, before, words);
}

/// A vector of integers, or of f64 if kDouble is set.
template <u32 kBytes, bool kDouble, bool kReduce>
__device__ __forceinline__ void integer_f64_vector(const ElementwiseArgs& args, const u32 (&a)[4],
                                                   const u32 (&b)[4], const u32 (&before)[4],
                                                   u32 (&words)[4]) {
  if constexpr (kBytes <= 2) {
    lane_vector<kBytes, kReduce>(args, a, b, before, words);
  } else {
    using Holder = typename HolderOf<kBytes>::Type;
    [[maybe_unused]] Factors<double> by{};
    if constexpr (kDouble) by = double_factors(args);
#pragma unroll
    for (u32 e = 0; e < 16 / kBytes; ++e) {
      const Holder x = element_at<kBytes, Holder>(a, e);
      const Holder y = element_at<kBytes, Holder>(b, e);
      const Holder old = kReduce ? element_at<kBytes, Holder>(before, e) : Holder{0};
      if constexpr (kDouble)
        put_element<kBytes>(words, e, static_cast<Holder>(double_element(args, by, x, y, old)));
      else
        put_element<kBytes>(words, e, integer_element<kReduce, Holder>(args, kBytes, x, y, old));
    }
  }
}

/// The kernel for integers and f64. All operands have the same type, and a vector has 16 bytes.
template <u32 kVector>
__device__ __forceinline__ void elementwise_integers_f64(const ElementwiseArgs& args) {
  constexpr u32 kBytes = 16 / kVector;
  constexpr u32 kFlight = kElementwiseFlight;
  constexpr u32 kTurn = kElementwiseThreads * kFlight;
  const u64 step = static_cast<u64>(gridDim.x) * kTurn;
  u64 at =
      static_cast<u64>(blockIdx.x) * kTurn + threadIdx.x / 32 * (32 * kFlight) + ptx::lane_id();
  for (; at < args.items; at += step) {
    const ThreadVectors<kVector, kFlight> turn(args, static_cast<u32>(at));
    u32 raw[kElementwiseOperands][kFlight][4] = {};
    turn.load(kOperandA, kBytes, args.src_policy, raw[kOperandA]);
    if (args.sources == 2) turn.load(kOperandB, kBytes, args.src_policy, raw[kOperandB]);
    const bool reduces = args.reduction != kReduceNone;
    if (reduces) turn.load(kOperandDst, kBytes, args.dst_policy, raw[kOperandDst]);
    const bool doubles = args.kind[kOperandDst] == kTypeF64;
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      u32 words[4] = {};
      const auto& a = raw[kOperandA][k];
      const auto& b = raw[kOperandB][k];
      const auto& before = raw[kOperandDst][k];
      if (kBytes == 8 && doubles)  // double_element() itself tests whether there is a reduction
        integer_f64_vector<kBytes, kBytes == 8, true>(args, a, b, before, words);
      else if (reduces)
        integer_f64_vector<kBytes, false, true>(args, a, b, before, words);
      else
        integer_f64_vector<kBytes, false, false>(args, a, b, before, words);
      if (turn.whole[k]) ptx::store_words<16>(turn.address[kOperandDst][k], words, args.dst_policy);
    }
    if (turn.has_parts)
      elementwise_parts<kVector, kFlight, false>(
          args, static_cast<u32>(at),
          [&](u64 a, u64 b, u64 before) { return integer_f64_element(args, a, b, before); });
  }
}

}  // namespace tw
