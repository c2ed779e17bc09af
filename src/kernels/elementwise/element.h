// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic on one element: from the bits of its operands to the bits of the result. The host
// bodies use it for all elements, the kernels for those outside whole vectors.

#include "kernels/elementwise/elementwise.h"

namespace tw {

// product() is never contracted with an addition; fused() is one fused multiply-add.
TW_KERNEL_HD inline float product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#elif defined(__FP_FAST_FMAF)
  volatile float rounded = a * b;
  return rounded;
#else
  return a * b;
#endif
}
TW_KERNEL_HD inline double product(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#elif defined(__FP_FAST_FMA)
  volatile double rounded = a * b;
  return rounded;
#else
  return a * b;
#endif
}
TW_KERNEL_HD inline float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
TW_KERNEL_HD inline double fused(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

/// Maps a floating-point number to an integer with the same order; -0 is below +0.
TW_KERNEL_HD constexpr i32 ordered(float value) {
  const auto bits = static_cast<i32>(bits_of(value));
  return bits ^ (bits >> 31 & 0x7fffffff);
}
TW_KERNEL_HD constexpr i64 ordered(double value) {
  const auto bits = __builtin_bit_cast(i64, value);
  return bits ^ (bits >> 63 & 0x7fffffffffffffffll);
}

/// Add, min or max. min and max ignore a single NaN operand.
template <class Number>
TW_KERNEL_HD constexpr Number reduce_number(u32 op, Number before, Number value) {
  if (op == kReduceAdd) return before + value;
  if (value != value) return before;
  if (before != before) return value;
  const bool less = ordered(value) < ordered(before);
  return less == (op == kReduceMin) ? value : before;
}

/// Returns the destination's bits of a result in f32. `limit` is ElementwiseArgs::saturate_at.
/// Before a reduction, the result is rounded to the destination's format, as if it had been stored.
/// Rounding the f32 sum again is harmless, because f32 has more than twice the bits of the format.
TW_KERNEL_HD constexpr u32 finish_float(u32 format, float value, u32 reduction, u32 before,
                                        float limit) {
  u32 bits = encode(format, saturate(value, limit));
  if (reduction == kReduceNone) return bits;
  const float sum = reduce_number(reduction, decode(format, before), decode(format, bits));
  return encode(format, saturate(sum, limit));
}

/// Returns the f32 at `address`, or `own` if `address` is 0.
template <class Number>
TW_KERNEL_HD inline Number factor_of(u64 address, Number own) {
  return address == 0 ? own : static_cast<Number>(*reinterpret_cast<const float*>(address));
}

/// The factors of a run, which the kernel reads when it runs. Number is float for floating-point
/// formats and double for f64.
template <class Number>
struct Factors {
  Number alpha, beta;
};
TW_KERNEL_HD inline Factors<float> float_factors(const ElementwiseArgs& args) {
  return {factor_of(args.device_alpha, float_of(static_cast<u32>(args.alpha))),
          factor_of(args.device_beta, float_of(static_cast<u32>(args.beta)))};
}
TW_KERNEL_HD inline Factors<double> double_factors(const ElementwiseArgs& args) {
  return {factor_of(args.device_alpha, __builtin_bit_cast(double, args.alpha)),
          factor_of(args.device_beta, __builtin_bit_cast(double, args.beta))};
}

/// A conversion: one source, no activation, no reduction.
TW_KERNEL_HD inline u32 convert_element(const ElementwiseArgs& args, float alpha, u32 a) {
  const float value = product(alpha, decode(args.kind[kOperandA], a));
  return encode(args.kind[kOperandDst], saturate(value, args.saturate_at));
}

TW_KERNEL_HD inline u32 float_element(const ElementwiseArgs& args, const Factors<float>& by, u32 a,
                                      u32 b, u32 before) {
  const bool multiplies = args.combine == kCombineMultiply;
  const float x = decode(args.kind[kOperandA], a);
  const float y = args.sources == 2 ? decode(args.kind[kOperandB], b) : 0.0f;
  float value = args.sources == 2 && !multiplies ? fused(by.alpha, x, product(by.beta, y))
                                                 : product(by.alpha, x);
  value = activate(args.activation, value);
  if (multiplies) value = product(value, y);
  return finish_float(args.kind[kOperandDst], value, args.reduction, before, args.saturate_at);
}

/// Reduces an integer. Holder is the type that holds it: u32 for up to 4 bytes, otherwise u64. The
/// element is zero-extended and occupies the lowest `bits` bits.
template <class Holder>
TW_KERNEL_HD constexpr Holder reduce_integer(u32 op, bool is_signed, u32 bits, Holder before,
                                             Holder value) {
  switch (op) {
    case kReduceAdd:
      return before + value;
    case kReduceMin:
    case kReduceMax: {
      // Flipping the sign bit makes signed numbers compare as unsigned ones.
      const Holder flip = is_signed ? Holder{1} << (bits - 1) : Holder{0};
      const bool less = (value ^ flip) < (before ^ flip);
      return less == (op == kReduceMin) ? value : before;
    }
    case kReduceAnd:
      return before & value;
    case kReduceOr:
      return before | value;
    case kReduceXor:
      return before ^ value;
    case kReduceInc:
      return before >= value ? Holder{0} : before + 1;
    case kReduceDec:
      return before == 0 || before > value ? value : before - 1;
    default:
      return value;
  }
}

/// The result for integers of `bytes` bytes, which wrap. Beta is 0 unless two sources are added.
template <bool kReduce, class Holder>
TW_KERNEL_HD constexpr Holder integer_element(const ElementwiseArgs& args, u32 bytes, Holder a,
                                              Holder b, Holder before) {
  const Holder mask = static_cast<Holder>(~Holder{0}) >> (8 * (sizeof(Holder) - bytes));
  if (args.combine == kCombineMultiply) a *= b;
  Holder value = static_cast<Holder>(args.alpha) * a + static_cast<Holder>(args.beta) * b;
  if constexpr (kReduce)
    value = reduce_integer<Holder>(args.reduction, args.kind[kOperandDst] == kTypeSigned, 8 * bytes,
                                   before, value & mask);
  return value & mask;
}

/// integer_element() for all 1-byte or 2-byte elements of a word, without a reduction. Only the
/// lowest 8 * kBytes bits of the factors affect the result.
template <u32 kBytes>
TW_KERNEL_HD constexpr u32 combine_lanes(u32 alpha, u32 beta, u32 a, u32 b) {
  static_assert(kBytes == 1 || kBytes == 2, "lanes of a word");
  if constexpr (kBytes == 2) {
    constexpr u32 kUpper = 0xffff0000u;
    const u32 lower = alpha * a + beta * b;
    const u32 upper = alpha * (a & kUpper) + beta * (b & kUpper);
    return (lower & ~kUpper) | (upper & kUpper);
  } else {
    constexpr u32 kEven = 0x00ff00ffu;
    const u32 x = alpha & 0xffu;
    const u32 y = beta & 0xffu;
    // A byte plus a product of bytes is less than 2^16, so nothing carries into the next lane.
    const u32 even = (x * (a & kEven) & kEven) + y * (b & kEven);
    const u32 odd = (x * (a >> 8 & kEven) & kEven) + y * (b >> 8 & kEven);
    return (even & kEven) | (odd & kEven) << 8;
  }
}

template <u32 kBytes>
TW_KERNEL_HD constexpr u32 multiply_lanes(u32 a, u32 b) {
  static_assert(kBytes == 1 || kBytes == 2, "lanes of a word");
  constexpr u32 kBits = 8 * kBytes;
  constexpr u32 kMask = (1u << kBits) - 1;
  u32 word = 0;
  for (u32 at = 0; at < 32; at += kBits) word |= ((a >> at) * (b >> at) & kMask) << at;
  return word;
}

/// reduce_integer() for all elements of several words, without inc and dec, which only u32 has.
template <u32 kBytes, u32 kWords>
TW_KERNEL_HD constexpr void reduce_lanes(u32 op, bool is_signed, const u32 (&before)[kWords],
                                         u32 (&value)[kWords]) {
  constexpr u32 kBits = 8 * kBytes;
  constexpr u32 kMask = (1u << kBits) - 1;
  const auto one_at_a_time = [&](u32 which) {
    for (u32 w = 0; w < kWords; ++w) {
      u32 word = 0;
      for (u32 at = 0; at < 32; at += kBits)
        word |= reduce_integer<u32>(which, is_signed, kBits, before[w] >> at & kMask,
                                    value[w] >> at & kMask)
                << at;
      value[w] = word;
    }
  };
  switch (op) {
    case kReduceAdd:
      for (u32 w = 0; w < kWords; ++w) value[w] = combine_lanes<kBytes>(1, 1, before[w], value[w]);
      return;
    case kReduceAnd:
      for (u32 w = 0; w < kWords; ++w) value[w] &= before[w];
      return;
    case kReduceOr:
      for (u32 w = 0; w < kWords; ++w) value[w] |= before[w];
      return;
    case kReduceXor:
      for (u32 w = 0; w < kWords; ++w) value[w] ^= before[w];
      return;
    case kReduceMin:
      return one_at_a_time(kReduceMin);
    case kReduceMax:
      return one_at_a_time(kReduceMax);
    default:
      return;
  }
}

/// The result for f64. Every NaN has the same bits.
TW_KERNEL_HD inline u64 double_element(const ElementwiseArgs& args, const Factors<double>& by,
                                       u64 a, u64 b, u64 before) {
  const double x = __builtin_bit_cast(double, a);
  const double y = __builtin_bit_cast(double, b);
  double value = product(by.alpha, x);
  if (args.combine == kCombineMultiply)
    value = product(value, y);
  else if (args.sources == 2)
    value = fused(by.alpha, x, product(by.beta, y));
  if (args.reduction != kReduceNone)
    value = reduce_number(args.reduction, __builtin_bit_cast(double, before), value);
  return value != value ? 0x7fffffffffffffffull : __builtin_bit_cast(u64, value);
}

/// One integer or f64 element; the operands are zero-extended.
TW_KERNEL_HD inline u64 integer_f64_element(const ElementwiseArgs& args, u64 a, u64 b, u64 before) {
  if (args.kind[kOperandDst] == kTypeF64)
    return double_element(args, double_factors(args), a, b, before);
  return integer_element<true, u64>(args, args.bytes[kOperandDst], a, b, before);
}

TW_KERNEL_HD inline u64 any_element(const ElementwiseArgs& args, u64 a, u64 b, u64 before) {
  if (args.kind[kOperandDst] >= kTypeUnsigned) return integer_f64_element(args, a, b, before);
  return float_element(args, float_factors(args), static_cast<u32>(a), static_cast<u32>(b),
                       static_cast<u32>(before));
}

}  // namespace tw
