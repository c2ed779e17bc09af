// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scores of experts in f32. All operations round the same way on the device and on the host, so
// both give the same bits. route_tree() defines the order of sums.

#include "kernels/common/activation.h"
#include "kernels/narrow.h"
#include "kernels/route/route.h"

namespace tw {

// No compiler may contract two of these operations into one. The intrinsics prevent that on the
// device, and the option -ffp-contract=off (meson.build) on the host.
TW_KERNEL_HD inline float route_add(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

TW_KERNEL_HD inline float route_multiply(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

TW_KERNEL_HD inline float route_divide(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

/// Widens a 16-bit value to f32, exactly.
TW_KERNEL_HD inline float route_widen(u32 type, u32 bits) {
  if (type == kRouteBf16) return act::from_bits(bits << 16);
  const u32 sign = (bits & 0x8000u) << 16;
  const u32 magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return act::from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return act::from_bits(sign | ((magnitude << 13) + 0x38000000u));
  const float subnormal = route_multiply(static_cast<float>(magnitude), 0x1p-24f);
  return act::from_bits(sign | act::bits(subnormal));
}

/// Sort keys: unsigned integers in the order of the values. NaN has key 1, below minus infinity; -0
/// has the key of +0. No value has key 0.
inline constexpr u32 kRouteNoKey = 0;
inline constexpr u32 kRouteNanKey = 1;
TW_KERNEL_HD inline u32 route_key(float value) {
  const u32 bits = act::bits(value);
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kRouteNanKey;
  if (magnitude == 0) return 0x80000000u;
  return magnitude == bits ? bits | 0x80000000u : ~bits;
}

/// Returns the value of a key; a NaN for kRouteNanKey.
TW_KERNEL_HD inline float route_value(u32 key) {
  return act::from_bits((key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key);
}

// For x in this range exp(x) is a normal number, and exp2_scaled() scales by 2^n with n at most
// 127.
inline constexpr float kRouteExpLow = -87.0f;
inline constexpr float kRouteExpHigh = 88.0f;

/// exp(x) with a relative error of at most 2^-21; 0 below -87 and infinity above 88. x is not NaN.
TW_KERNEL_HD inline float route_exp(float x) {
  constexpr float kLog2E = 0x1.715476p+0f, kLog2ERest = 0x1.4ae0c0p-26f;
  const float clamped = x < kRouteExpLow ? kRouteExpLow : x > kRouteExpHigh ? kRouteExpHigh : x;
  const float rounded = act::fused(clamped, kLog2E, kRounder);
  const float whole = route_add(rounded, -kRounder);
  const float part = act::fused(clamped, kLog2ERest, act::fused(clamped, kLog2E, -whole));
  const float result = act::exp2_scaled(part, rounded);
  if (x < kRouteExpLow) return 0.0f;
  return x > kRouteExpHigh ? act::from_bits(0x7f800000u) : result;
}

// sigmoid(x) is 0 below -83 and 1 above 83.
inline constexpr float kRouteSigmoidEnd = 83.0f;

/// 1 / (1 + exp(-x)) with a relative error of at most 2^-20. x is not NaN.
TW_KERNEL_HD inline float route_sigmoid(float x) {
  const float clamped = x > kRouteSigmoidEnd    ? kRouteSigmoidEnd
                        : x < -kRouteSigmoidEnd ? -kRouteSigmoidEnd
                                                : x;
  const float result = act::reciprocal(route_add(1.0f, route_exp(-clamped)));
  return x < -kRouteSigmoidEnd ? 0.0f : result;
}

/// A logit's numerator in the softmax: exp(x - top), where `top` is the largest logit that is not
/// NaN. It is 0 for NaN and 1 for x == top, so that infinite logits share the weight. Branch-free,
/// so that the experts of a lane are computed in parallel.
TW_KERNEL_HD inline float route_numerator(u32 key, float top) {
  const float x = route_value(key);
  const float result = route_exp(route_add(x, -top));
  return key <= kRouteNanKey ? 0.0f : x == top ? 1.0f : result;
}

/// Reciprocal of a softmax's denominator, which is 0 (no valid logit) or at least 1.
TW_KERNEL_HD inline float route_factor(float sum) {
  return sum > 0.0f ? act::reciprocal(sum) : 0.0f;
}

/// Returns the score of a logit. `top` and `factor` are the largest logit and route_factor() of the
/// softmax.
TW_KERNEL_HD inline float route_score_of(u32 score, u32 key, float top, float factor) {
  if (score != kRouteSigmoid) return route_multiply(route_numerator(key, top), factor);
  const float result = route_sigmoid(route_value(key));
  return key <= kRouteNanKey ? 0.0f : result;
}

/// Divides a weight by the sum of a token's weights, unless the sum is 0 or less.
TW_KERNEL_HD inline float route_normalize(float weight, float sum) {
  return sum > 0.0f ? route_divide(weight, sum) : weight;
}

/// Returns the key by which an expert with this score is chosen. `key` is the key of its logit. An
/// expert whose logit is NaN keeps this key and comes last, whatever its bias.
TW_KERNEL_HD inline u32 route_biased(u32 key, float score, float bias) {
  return key <= kRouteNanKey ? key : route_key(route_add(score, bias));
}

/// The key of a group, from the keys of its two best experts. `second` is kRouteNoKey if the group
/// has one expert.
TW_KERNEL_HD inline u32 route_pair_key(u32 best, u32 second) {
  if (second == kRouteNoKey) return best;
  return route_key(route_add(route_value(best), route_value(second)));
}

/// Sums 32 numbers, one per lane, in the order of the warp's reduction: lanes 16 apart, then 8, 4,
/// 2 and 1. Lane l's number is the sum over experts l, l + 32, ... in that order.
inline float route_tree(const float (&lanes)[32]) {
  float sums[32];
  for (int lane = 0; lane < 32; ++lane) sums[lane] = lanes[lane];
  for (int step = 16; step != 0; step /= 2)
    for (int lane = 0; lane < step; ++lane) sums[lane] = route_add(sums[lane], sums[lane + step]);
  return sums[0];
}

}  // namespace tw
