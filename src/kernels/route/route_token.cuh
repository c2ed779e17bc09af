// SPDX-License-Identifier: Apache-2.0
#pragma once
// A warp chooses the experts of a token. Lane l holds the experts l, l + 32, and so on as sort keys
// in registers; lane s ends up with slot s.
//
// The predecessor grid may write what is read here, so that no load is one for constant data.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/route/route_math.h"

namespace tw {

inline constexpr u32 kAllLanes = 0xffffffffu;

__device__ __forceinline__ float load_float(u64 address) {
  return __uint_as_float(ptx::load_after_wait<4>(address));
}

/// The sum over all lanes, in the order of route_tree().
__device__ __forceinline__ float route_warp_sum(float value) {
#pragma unroll
  for (u32 step = 16; step != 0; step /= 2)
    value = route_add(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

/// The key of one logit.
__device__ __forceinline__ u32 route_load_key(const RouteArgs& args, u64 row, u32 expert) {
  u32 bits = 0;
  const bool wide = args.type == kRouteF32;
  ptx::load_if_u32(bits, row + expert * 4ull, wide);
  ptx::load_if_u16(bits, row + expert * 2ull, !wide);
  return route_key(wide ? __uint_as_float(bits) : route_widen(args.type, bits));
}

/// The keys of all logits of a token, with all loads in flight at once.
template <u32 kVectors>
__device__ __forceinline__ void route_load_keys(const RouteArgs& args, u64 row,
                                                u32 (&keys)[kVectors]) {
  const u32 lane = ptx::lane_id();
  const bool wide = args.type == kRouteF32;
  const u32 bytes = wide ? 4 : 2;
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j) {
    const u32 expert = j * 32 + lane;
    keys[j] = 0;
    ptx::load_if_u32(keys[j], row + expert * bytes, wide && expert < args.experts);
    ptx::load_if_u16(keys[j], row + expert * bytes, !wide && expert < args.experts);
  }
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j) {
    const float value = wide ? __uint_as_float(keys[j]) : route_widen(args.type, keys[j]);
    keys[j] = j * 32 + lane < args.experts ? route_key(value) : kRouteNoKey;
  }
}

/// The largest key of all lanes.
template <u32 kVectors>
__device__ __forceinline__ u32 route_largest(const u32 (&keys)[kVectors]) {
  u32 best = keys[0];
#pragma unroll
  for (u32 j = 1; j < kVectors; ++j) best = max(best, keys[j]);
  return __reduce_max_sync(kAllLanes, best);
}

/// Of a softmax over all experts what its scores are divided by; 1 of other scores.
template <u32 kVectors>
__device__ __forceinline__ float route_sum(const RouteArgs& args, const u32 (&keys)[kVectors],
                                           float top) {
  if (args.score != kRouteSoftmax) return 1.0f;
  float sum = 0.0f;
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j) sum = route_add(sum, route_raw(args.score, keys[j], top));
  return route_warp_sum(sum);
}

/// Replaces the keys of logits by those of scores, with the bias where there is one.
template <u32 kVectors>
__device__ __forceinline__ void route_score_keys(const RouteArgs& args, u32 (&keys)[kVectors],
                                                 float top, float sum) {
  const u32 lane = ptx::lane_id();
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j) {
    u32 bias = 0;
    ptx::load_if_u32(bias, args.bias + (j * 32 + lane) * 4ull,
                     args.bias != 0 && j * 32 + lane < args.experts);
    float score = route_value(keys[j]);
    if (args.score != kRouteSoftmaxChosen) score = route_raw(args.score, keys[j], top);
    if (args.score == kRouteSoftmax) score = route_share(score, sum);
    keys[j] = route_biased(keys[j], score, __uint_as_float(bias));
  }
}

/// The key of a group, in all lanes.
template <u32 kVectors>
__device__ __forceinline__ u32 route_group_key(const RouteArgs& args, const u32 (&keys)[kVectors],
                                               u32 group) {
  const u32 first = group * args.group_size;
  const u32 lane = ptx::lane_id();
  u32 best = kRouteNoKey;
  u32 second = kRouteNoKey;
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j) {
    if (j * 32 + 32 <= first || j * 32 >= first + args.group_size) continue;
    const u32 key = j * 32 + lane - first < args.group_size ? keys[j] : kRouteNoKey;
    second = max(second, min(best, key));
    best = max(best, key);
  }
  const u32 top = __reduce_max_sync(kAllLanes, best);
  if (!route_has(args, kRouteGroupTop2)) return top;
  const u32 lanes = __ballot_sync(kAllLanes, best == top);
  const bool own = lane + 1 == static_cast<u32>(__ffs(static_cast<int>(lanes)));
  return route_pair_key(top, __reduce_max_sync(kAllLanes, own ? second : best));
}

/// Drops the experts of all groups but the best.
template <u32 kVectors>
__device__ __forceinline__ void route_limit_groups(const RouteArgs& args, u32 (&keys)[kVectors]) {
  const u32 lane = ptx::lane_id();
  u32 own = kRouteNoKey;  // lane g has group g
  for (u32 group = 0; group < args.groups; ++group) {
    const u32 key = route_group_key(args, keys, group);
    if (lane == group) own = key;
  }
  u32 better = 0;
  for (u32 group = 0; group < args.groups; ++group) {
    const u32 key = __shfl_sync(kAllLanes, own, static_cast<int>(group));
    better += key > own || (key == own && group < lane) ? 1 : 0;
  }
  const u32 taken = __ballot_sync(kAllLanes, lane < args.groups && better < args.top_groups);
#pragma unroll
  for (u32 j = 0; j < kVectors; ++j)
    if ((taken >> ((j * 32 + lane) / args.group_size & 31) & 1) == 0) keys[j] = kRouteNoKey;
}

/// The experts with the top_k largest keys, the lower number first where they are equal: lane s
/// returns that of slot s.
template <u32 kVectors>
__device__ __forceinline__ u32 route_choose(const RouteArgs& args, u32 (&keys)[kVectors]) {
  const u32 lane = ptx::lane_id();
  u32 chosen = 0;
  u32 best = 0;
  u32 at = 0;
  const auto look = [&] {
    best = keys[0];
    at = 0;
#pragma unroll
    for (u32 j = 1; j < kVectors; ++j) {
      at = keys[j] > best ? j : at;
      best = max(best, keys[j]);
    }
  };
  look();
  for (u32 slot = 0; slot < args.top_k; ++slot) {
    const u32 top = __reduce_max_sync(kAllLanes, best);
    const u32 own = at * 32 + lane;
    const u32 expert = __reduce_min_sync(kAllLanes, best == top ? own : kAllLanes);
    if (lane == slot) chosen = expert;
    if (own == expert) {
#pragma unroll
      for (u32 j = 0; j < kVectors; ++j) keys[j] = j == at ? kRouteNoKey : keys[j];
      look();
    }
  }
  return chosen;
}

/// The weight of the lane's slot, by its unbiased score. All lanes call it.
__device__ __forceinline__ float route_scale(const RouteArgs& args, float score) {
  const bool real = ptx::lane_id() < args.top_k;
  if (route_has(args, kRouteRenormalize))
    score = route_share(score, route_warp_sum(real ? score : 0.0f));
  return route_multiply(score, args.scale);
}

__device__ __forceinline__ float route_weight(const RouteArgs& args, u64 row, u32 expert, float top,
                                              float sum) {
  const bool real = ptx::lane_id() < args.top_k;
  const u32 key = real ? route_load_key(args, row, expert) : kRouteNoKey;
  const bool chosen = args.score == kRouteSoftmaxChosen;
  if (chosen) top = route_value(__reduce_max_sync(kAllLanes, key));
  const float raw = route_raw(args.score, key, top);
  if (chosen) sum = route_warp_sum(raw);
  return route_scale(args, route_share(raw, sum));
}

struct RouteSlot {
  i32 expert;  // -1: none
  float weight;
};

template <u32 kVectors>
__device__ __forceinline__ RouteSlot route_scored(const RouteArgs& args, u32 token) {
  const u64 row = args.logits + token * static_cast<u64>(args.pitch);
  u32 keys[kVectors];
  route_load_keys(args, row, keys);
  float top = 0.0f;
  float sum = 1.0f;
  if (args.score == kRouteSoftmax) {
    top = route_value(route_largest(keys));
    sum = route_sum(args, keys, top);
  }
  if (route_has(args, kRouteByScore)) route_score_keys(args, keys, top, sum);
  if (args.groups > 1) route_limit_groups(args, keys);
  const u32 expert = route_choose(args, keys);
  const float weight = args.weights == 0 ? 0.0f : route_weight(args, row, expert, top, sum);
  return {static_cast<i32>(expert), weight};
}

/// An id that was given, or -1 where it is no expert's.
__device__ __forceinline__ RouteSlot route_given(const RouteArgs& args, u32 token) {
  const u32 lane = ptx::lane_id();
  const u64 pair = static_cast<u64>(token) * args.top_k + lane;
  i32 expert = -1;
  float weight = 0.0f;
  if (lane < args.top_k) {
    const u64 at = args.given_ids + pair * args.id_bytes;
    const u32 low = ptx::load_after_wait<4>(at);
    const u32 high = ptx::load_word_after_wait(args.id_bytes == 8, at + 4, 0);
    if (high == 0 && low < args.experts) expert = static_cast<i32>(low);
    if (args.weights != 0) weight = load_float(args.given_weights + pair * 4);
  }
  return {expert, route_scale(args, weight)};
}

/// A token's slots, written where they are wanted; the bin of the lane's. With kMany there may be
/// more than kRouteFewExperts.
template <bool kMany>
__device__ __forceinline__ RouteBin route_token(const RouteArgs& args, u32 token) {
  const u32 lane = ptx::lane_id();
  RouteSlot slot;
  if (route_has(args, kRouteGiven))
    slot = route_given(args, token);
  else if (args.experts <= 64)
    slot = route_scored<2>(args, token);
  else if (args.experts <= 128)
    slot = route_scored<4>(args, token);
  else if (args.experts <= 256)
    slot = route_scored<8>(args, token);
  else if (!kMany || args.experts <= kRouteFewExperts)
    slot = route_scored<kRouteFewExperts / 32>(args, token);
  else
    slot = route_scored<kRouteMaxExperts / 32>(args, token);
  if (lane >= args.top_k) return {args.local, false};
  const u64 pair = static_cast<u64>(token) * args.top_k + lane;
  if (args.ids != 0) ptx::store_unit<4>(args.ids + pair * 4, static_cast<u32>(slot.expert));
  if (args.weights != 0) ptx::store_unit<4>(args.weights + pair * 4, __float_as_uint(slot.weight));
  if (slot.expert < 0) return {args.local, true};
  if (args.map == 0) return route_bin(args, slot.expert);
  const u32 mapped = ptx::load_after_wait<4>(args.map + static_cast<u64>(slot.expert) * 4);
  return route_bin(args, static_cast<i32>(mapped));
}

/// Adds what the warp's lanes have counted to the caller's word.
__device__ __forceinline__ void route_count_faults(const RouteArgs& args, u32 faults) {
  if (args.faults == 0) return;
  faults = __reduce_add_sync(kAllLanes, faults);
  if (ptx::lane_id() == 0 && faults != 0)
    ptx::reduce_add_u64(args.faults, static_cast<u64>(faults));
}

}  // namespace tw
