// SPDX-License-Identifier: Apache-2.0
#pragma once
// The activation functions of epilogues, in f32. Host bodies use exactly rounded operations only,
// so that every compiler gives the same bits. The device uses its approximate exponential and
// reciprocal instead of the host's polynomials, because the epilogue must keep up with the tensor
// cores. Error bounds are against float64. Those of the host were measured over all floats, and a
// test repeats that; those of the device follow from the instructions' 2^-22 each.
//
// Each a * b + c is written as a fused operation, and no product is an operand of a plain sum, so
// that compilers cannot contract differently. Range ends select between computed values instead of
// branching, so that elements are computed in parallel.

#include "kernels/narrow.h"

namespace tw {

/// The functions of activate(); the values of tw_activation.
enum : u32 { kActIdentity = 0, kActRelu = 1, kActGelu = 2, kActGeluTanh = 3, kActSilu = 4 };

namespace act {

TW_KERNEL_HD inline float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

TW_KERNEL_HD inline u32 bits(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  u32 out;
  __builtin_memcpy(&out, &value, 4);
  return out;
#endif
}

TW_KERNEL_HD inline float from_bits(u32 value) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(value);
#else
  float out;
  __builtin_memcpy(&out, &value, 4);
  return out;
#endif
}

/// 2^(part + n) for part in [-0.5, 0.5], where n is the integer in the lowest bits of `rounded`.
/// Relative error below 2^-22.
TW_KERNEL_HD inline float exp2_scaled(float part, float rounded) {
  float p = 0x1.41d332p-13f;
  p = fused(p, part, 0x1.5f456ap-10f);
  p = fused(p, part, 0x1.3b2dbcp-7f);
  p = fused(p, part, 0x1.c6aed4p-5f);
  p = fused(p, part, 0x1.ebfbdap-3f);
  p = fused(p, part, 0x1.62e430p-1f);
  p = fused(p, part, 1.0f);
  return from_bits(bits(p) + (bits(rounded) << 23));
}

/// 1 / value for 1 <= value < 2^122: an estimate from the exponent with a relative error below 1/8,
/// then two steps that each cube the error.
TW_KERNEL_HD inline float reciprocal(float value) {
  float r = from_bits(0x7ef311c7u - bits(value));
  float error = fused(-value, r, 1.0f);
  r = fused(r, fused(error, error, error), r);
  error = fused(-value, r, 1.0f);
  return fused(r, fused(error, error, error), r);
}

// Below -83, exp(-x) leaves the range of reciprocal(), and |x / (1 + exp(-x))| is under 2^-113.
inline constexpr float kSigmoidEnd = 83.0f;

#ifdef __CUDA_ARCH__
/// The chip's 2^x and 1 / x: relative errors of 2^-22, subnormals count as 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
__device__ __forceinline__ float reciprocal_approx(float x) {
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
#endif

#ifdef __CUDA_ARCH__
/// -x log2 e, for silu().
__device__ __forceinline__ float silu_power(float x) {
  return x * -0x1.715476p+0f;
}
/// 2 u times -log2 e in one step, with the u of gelu_tanh().
__device__ __forceinline__ float gelu_tanh_power(float x) {
  return x * fused(x * x, -0x1.a5a7d0p-4f, -0x1.26aec2p+1f);
}

/// The same for an x that was multiplied by kGeluTanhFactor before. The factor's third power is the
/// coefficient of x^3, which saves a multiplication. Its third power, and its product with
/// kGeluTanhRest, have relative errors below 2^-24. If the caller scales the terms of x instead of
/// x, each is rounded: x is then within 2^-23 of the sum of their magnitudes.
inline constexpr float kGeluTanhFactor = 0x1.dfeab0p-2f;
inline constexpr float kGeluTanhRest = 0x1.3a61f8p+2f;
__device__ __forceinline__ float gelu_tanh_power_of_scaled(float x) {
  return -(fused(x, x, kGeluTanhRest) * x);
}
#endif

/// 1 / (1 + exp(-x)); the host clamps x to +-kSigmoidEnd.
TW_KERNEL_HD inline float sigmoid(float x) {
#ifdef __CUDA_ARCH__
  return reciprocal_approx(1.0f + exp2_approx(silu_power(x)));
#else
  constexpr float kLog2E = 0x1.715476p+0f, kLog2ERest = 0x1.4ae0c0p-26f;
  const float clamped = x < -kSigmoidEnd ? -kSigmoidEnd : x > kSigmoidEnd ? kSigmoidEnd : x;
  const float rounded = fused(clamped, -kLog2E, kRounder);
  const float whole = rounded - kRounder;
  const float part = fused(clamped, -kLog2ERest, fused(clamped, -kLog2E, -whole));
  return reciprocal(1.0f + exp2_scaled(part, rounded));
#endif
}

/// The larger of x and `floor`, which is not NaN. An x of NaN stays NaN; +0 is larger than -0.
TW_KERNEL_HD inline float larger(float x, float floor) {
#ifdef __CUDA_ARCH__
  float out;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(x), "f"(floor));
  return out;
#else
  return x <= floor ? floor : x;
#endif
}

TW_KERNEL_HD inline float relu(float x) {
  return larger(x, 0.0f);
}

/// Replaces minus infinity by the lowest finite float, whose product with 0 is -0. NaN stays NaN.
TW_KERNEL_HD inline float finite_below(float x) {
  return larger(x, -0x1.fffffep+127f);
}

/// x / (1 + exp(-x)). Error below 2^-21 |value| + 2^-110, on the device below
/// 2^-20 (1 + |x|) |value| + 2^-110. Minus infinity gives -0.
TW_KERNEL_HD inline float silu(float x) {
#ifdef __CUDA_ARCH__
  const float clamped = finite_below(x);
  return clamped * sigmoid(clamped);
#else
  return (x < -kSigmoidEnd ? -0.0f : x) * sigmoid(x);
#endif
}

/// x / 2 (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as x sigmoid(2 u). Error below
/// 2^-21 |x| sigmoid(2 u) (1 + |u|) + 2^-110, on the device twice that. Minus infinity gives -0.
TW_KERNEL_HD inline float gelu_tanh(float x) {
#ifdef __CUDA_ARCH__
  const float clamped = finite_below(x);
  return clamped * reciprocal_approx(1.0f + exp2_approx(gelu_tanh_power(clamped)));
#else
  const float twice_u = x * fused(x * x, 0x1.2444f2p-4f, 0x1.988454p+0f);
  return (twice_u < -kSigmoidEnd ? -0.0f : x) * sigmoid(twice_u);
#endif
}

/// x / 2 (1 + erf(x / sqrt 2)). Error below 2^-22 |x|, on the device below 2^-21 |x|. Gives -0 for
/// minus infinity, and on the host for all x below -5.6, where the value is within 2^-23 of 0.
TW_KERNEL_HD inline float gelu(float x) {
  [[maybe_unused]] constexpr float kEnd = 5.6f;
#ifdef __CUDA_ARCH__
  const float a = fminf(fabsf(x), 0x1.fffffep+127f);
#else
  const float size = x < 0.0f ? -x : x;
  const float a = size > kEnd ? kEnd : size;
  const float inside = size > kEnd ? -0.0f : x;
#endif
  // -log2 of the normal distribution's tail beyond a. Beyond kEnd it is too large, never too small.
  float tail = 0x1.1c08bcp-26f;
  tail = fused(tail, a, -0x1.1c4aa2p-21f);
  tail = fused(tail, a, 0x1.e779d2p-18f);
  tail = fused(tail, a, -0x1.c289d6p-15f);
  tail = fused(tail, a, 0x1.9c2b28p-13f);
  tail = fused(tail, a, 0x1.83285ep-13f);
  tail = fused(tail, a, -0x1.d74ca6p-8f);
  tail = fused(tail, a, 0x1.af1750p-5f);
  tail = fused(tail, a, 0x1.d62c4ep-2f);
  tail = fused(tail, a, 0x1.26af62p+0f);
  tail = fused(tail, a, 0x1.fffff8p-1f);
#ifdef __CUDA_ARCH__
  return fused(-a, exp2_approx(-tail), larger(x, -0.0f));
#else
  const float rounded = kRounder - tail;
  const float outside = exp2_scaled(-tail - (rounded - kRounder), rounded);
  const float below = inside * outside, above = fused(-inside, outside, x);
  return x < 0.0f ? below : above;
#endif
}

}  // namespace act

TW_KERNEL_HD inline float activate(u32 which, float x) {
  if (which == kActRelu) return act::relu(x);
  if (which == kActGelu) return act::gelu(x);
  if (which == kActGeluTanh) return act::gelu_tanh(x);
  if (which == kActSilu) return act::silu(x);
  return x;
}

/// alpha * sum + (beta * c + bias). Pass -0 for an absent bias: it changes no sum.
TW_KERNEL_HD inline float before_activation(float alpha, float sum, float beta, float c,
                                            float bias) {
  return act::fused(alpha, sum, act::fused(beta, c, bias));
}

}  // namespace tw
