// SPDX-License-Identifier: Apache-2.0
#pragma once
// One warp chooses the experts of a token. Lane l holds the sort keys of experts l, l + 32, ... in
// registers. At the end lane s holds the expert and the weight of slot s.
//
// The predecessor grid may write the inputs, so no load uses the path for constant data.

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/route/route_math.h"

namespace tw {

inline constexpr u32 kAllLanes = 0xffffffffu;
// Experts that a lane processes at once. More would take too many registers.
inline constexpr u32 kExpertsAtOnce = 8;

__device__ __forceinline__ float load_float(u64 address) {
  return __uint_as_float(ptx::load_after_wait<4>(address));
}

/// Sums over all lanes, in the order of route_tree().
__device__ __forceinline__ float route_warp_sum(float value) {
#pragma unroll
  for (u32 step = 16; step != 0; step /= 2)
    value = route_add(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

__device__ __forceinline__ u32 route_load_key(const RouteArgs& args, u64 row, u32 expert) {
  u32 bits = 0;
  const bool wide = args.logit_type == kRouteF32;
  ptx::load_if_u32(bits, row + expert * 4ull, wide);
  ptx::load_if_u16(bits, row + expert * 2ull, !wide);
  return route_key(wide ? __uint_as_float(bits) : route_widen(args.logit_type, bits));
}

/// Loads the keys of all logits of a token, with all loads in flight at once. The branch on the
/// type is outside the loops, so that addresses are a base plus constants.
template <u32 kKeys>
__device__ __forceinline__ void route_load_keys(const RouteArgs& args, u64 row,
                                                u32 (&keys)[kKeys]) {
  const u32 lane = ptx::lane_id();
  const u32 remaining = args.experts - min(lane, args.experts);  // experts from `lane` on
#pragma unroll
  for (u32 j = 0; j < kKeys; ++j) keys[j] = 0;
  if (args.logit_type == kRouteF32) {
    row += lane * 4;
#pragma unroll
    for (u32 j = 0; j < kKeys; ++j) ptx::load_if_u32(keys[j], row + j * 128, j * 32 < remaining);
#pragma unroll
    for (u32 j = 0; j < kKeys; ++j)
      keys[j] = j * 32 < remaining ? route_key(__uint_as_float(keys[j])) : kRouteNoKey;
    return;
  }
  row += lane * 2;
#pragma unroll
  for (u32 j = 0; j < kKeys; ++j) ptx::load_if_u16(keys[j], row + j * 64, j * 32 < remaining);
#pragma unroll
  for (u32 j = 0; j < kKeys; ++j)
    keys[j] = j * 32 < remaining ? route_key(route_widen(args.logit_type, keys[j])) : kRouteNoKey;
}

template <u32 kKeys>
__device__ __forceinline__ u32 route_largest(const u32 (&keys)[kKeys]) {
  u32 best = keys[0];
#pragma unroll
  for (u32 j = 1; j < kKeys; ++j) best = max(best, keys[j]);
  return __reduce_max_sync(kAllLanes, best);
}

template <u32 kKeys>
__device__ __forceinline__ float route_factor_of(const u32 (&keys)[kKeys], float top) {
  float sum = 0.0f;
#pragma unroll
  for (u32 j = 0; j < kKeys; ++j) sum = route_add(sum, route_numerator(keys[j], top));
  return route_factor(route_warp_sum(sum));
}

/// Replaces the keys of logits by those of scores, plus the bias if there is one.
template <u32 kScore, u32 kKeys>
__device__ __forceinline__ void route_rescore(const RouteArgs& args, u32 (&keys)[kKeys], float top,
                                              float factor) {
  constexpr u32 kAtOnce = kKeys < kExpertsAtOnce ? kKeys : kExpertsAtOnce;
  const u32 lane = ptx::lane_id();
  const u64 from = args.bias + lane * 4;
  const u32 remaining = args.bias == 0 ? 0 : args.experts - min(lane, args.experts);
#pragma unroll
  for (u32 base = 0; base < kKeys; base += kAtOnce) {
    u32 bias[kAtOnce] = {};
#pragma unroll
    for (u32 j = 0; j < kAtOnce; ++j)
      ptx::load_if_u32(bias[j], from + (base + j) * 128, (base + j) * 32 < remaining);
#pragma unroll
    for (u32 j = 0; j < kAtOnce; ++j) {
      u32& key = keys[base + j];
      const float score = kScore == kRouteSoftmaxChosen ? route_value(key)
                                                        : route_score_of(kScore, key, top, factor);
      key = route_biased(key, score, __uint_as_float(bias[j]));
    }
  }
}

template <u32 kKeys>
__device__ __forceinline__ void route_score_keys(const RouteArgs& args, u32 (&keys)[kKeys],
                                                 float top, float factor) {
  if (args.score == kRouteSoftmax)
    route_rescore<kRouteSoftmax>(args, keys, top, factor);
  else if (args.score == kRouteSigmoid)
    route_rescore<kRouteSigmoid>(args, keys, top, factor);
  else
    route_rescore<kRouteSoftmaxChosen>(args, keys, top, factor);
}

/// Calls `step(j, in_group)` for each j for which key j of some lane belongs to the group.
/// `in_group` says whether key j of this lane does.
template <u32 kKeys, class Step>
__device__ __forceinline__ void route_each_in_group(const RouteArgs& args, u32 group, Step step) {
  const u32 first = group * args.group_size;
#pragma unroll
  for (u32 j = 0; j < kKeys; ++j)
    if (j * 32 + 32 > first && j * 32 < first + args.group_size)
      step(j, j * 32 + ptx::lane_id() - first < args.group_size);
}

/// Returns the key of a group in all lanes.
template <u32 kKeys>
__device__ __forceinline__ u32 route_group_key(const RouteArgs& args, const u32 (&keys)[kKeys],
                                               u32 group) {
  u32 best = kRouteNoKey;
  u32 second = kRouteNoKey;
  route_each_in_group<kKeys>(args, group, [&](u32 j, bool in_group) {
    const u32 key = in_group ? keys[j] : kRouteNoKey;
    second = max(second, min(best, key));
    best = max(best, key);
  });
  const u32 top = __reduce_max_sync(kAllLanes, best);
  if (!route_has(args, kRouteGroupTop2)) return top;
  const u32 lanes = __ballot_sync(kAllLanes, best == top);
  const bool has_top = ptx::lane_id() + 1 == static_cast<u32>(__ffs(static_cast<int>(lanes)));
  return route_pair_key(top, __reduce_max_sync(kAllLanes, has_top ? second : best));
}

/// Removes the experts of all groups except the top_groups best ones.
template <u32 kKeys>
__device__ __forceinline__ void route_limit_groups(const RouteArgs& args, u32 (&keys)[kKeys]) {
  const u32 lane = ptx::lane_id();
  u32 own = kRouteNoKey;  // key of group `lane`
  for (u32 group = 0; group < args.groups; ++group) {
    const u32 key = route_group_key(args, keys, group);
    if (lane == group) own = key;
  }
  u32 better = 0;
  for (u32 group = 0; group < args.groups; ++group) {
    const u32 key = __shfl_sync(kAllLanes, own, static_cast<int>(group));
    better += key > own || (key == own && group < lane) ? 1 : 0;
  }
  const u32 taken = __ballot_sync(kAllLanes, better < args.top_groups);
  for (u32 group = 0; group < args.groups; ++group) {
    if ((taken >> group & 1) != 0) continue;
    route_each_in_group<kKeys>(args, group, [&](u32 j, bool in_group) {
      if (in_group) keys[j] = kRouteNoKey;
    });
  }
}

/// Finds the largest of a lane's keys and its index; of equal keys the first one. A tree of
/// comparisons shortens the dependency chain. It covers kExpertsAtOnce keys at a time.
template <u32 kKeys>
__device__ __forceinline__ void route_lane_best(const u32 (&keys)[kKeys], u32* best,
                                                u32* best_index) {
  constexpr u32 kAtOnce = kKeys < kExpertsAtOnce ? kKeys : kExpertsAtOnce;
  *best = kRouteNoKey;
  *best_index = 0;
#pragma unroll
  for (u32 base = 0; base < kKeys; base += kAtOnce) {
    u32 value[kAtOnce];
    u32 index[kAtOnce];
#pragma unroll
    for (u32 j = 0; j < kAtOnce; ++j) value[j] = keys[base + j], index[j] = base + j;
#pragma unroll
    for (u32 width = 1; width < kAtOnce; width *= 2)
#pragma unroll
      for (u32 j = 0; j < kAtOnce; j += 2 * width) {
        index[j] = value[j + width] > value[j] ? index[j + width] : index[j];
        value[j] = max(value[j], value[j + width]);
      }
    *best_index = value[0] > *best ? index[0] : *best_index;
    *best = max(*best, value[0]);
  }
}

struct RouteChoice {
  u32 expert;
  u32 key;
};

/// Chooses the experts with the top_k largest keys; of equal keys, the lower expert comes first.
/// Lane s returns the choice of slot s.
template <u32 kKeys>
__device__ __forceinline__ RouteChoice route_choose(const RouteArgs& args, u32 (&keys)[kKeys]) {
  const u32 lane = ptx::lane_id();
  RouteChoice chosen{0, kRouteNoKey};
#pragma unroll 1  // each slot depends on the previous ones, so unrolling would only add code
  for (u32 slot = 0; slot < args.top_k; ++slot) {
    u32 best = 0;
    u32 best_index = 0;
    route_lane_best(keys, &best, &best_index);
    const u32 top = __reduce_max_sync(kAllLanes, best);
    const u32 best_expert = best_index * 32 + lane;
    const u32 expert = __reduce_min_sync(kAllLanes, best == top ? best_expert : kAllLanes);
    if (lane == slot) chosen = {expert, top};
#pragma unroll
    for (u32 j = 0; j < kKeys; ++j) keys[j] = j * 32 + lane == expert ? kRouteNoKey : keys[j];
  }
  return chosen;
}

/// Renormalizes and scales the weight of the lane's slot. All lanes call it.
__device__ __forceinline__ float route_scale_weight(const RouteArgs& args, float weight) {
  const bool is_valid = ptx::lane_id() < args.top_k;
  if (route_has(args, kRouteRenormalize))
    weight = route_normalize(weight, route_warp_sum(is_valid ? weight : 0.0f));
  return route_multiply(weight, args.scale);
}

/// Returns the weight of the lane's slot, from its unbiased score. `key` is the key of its logit,
/// or kRouteNoKey in lanes without a slot.
__device__ __forceinline__ float route_weight(const RouteArgs& args, u32 key, float top,
                                              float factor) {
  if (args.score == kRouteSoftmaxChosen) {
    top = route_value(__reduce_max_sync(kAllLanes, key));
    factor = route_factor(route_warp_sum(route_numerator(key, top)));
  }
  return route_scale_weight(args, route_score_of(args.score, key, top, factor));
}

struct RouteSlot {
  i32 expert;  // -1: none
  float weight;
};

/// The lane's slot, chosen from the token's logits.
template <u32 kKeys>
__device__ __forceinline__ RouteSlot route_choose_slot(const RouteArgs& args, u32 token) {
  const u64 row = args.logits + token * static_cast<u64>(args.pitch);
  const bool by_score = route_has(args, kRouteByScore);
  u32 keys[kKeys];
  route_load_keys(args, row, keys);
  float top = 0.0f;
  float factor = 1.0f;
  if (args.score == kRouteSoftmax) {
    top = route_value(route_largest(keys));
    factor = route_factor_of(keys, top);
  }
  if (by_score) route_score_keys(args, keys, top, factor);
  if (args.groups > 1) route_limit_groups(args, keys);
  RouteChoice chosen = route_choose(args, keys);
  const auto expert = static_cast<i32>(chosen.expert);
  if (args.weights == 0) return {expert, 0.0f};
  // The key is that of a biased score. Reload the logit, which is in the cache.
  if (by_score && ptx::lane_id() < args.top_k)
    chosen.key = route_load_key(args, row, chosen.expert);
  return {expert, route_weight(args, chosen.key, top, factor)};
}

/// The lane's slot if the caller gives the experts. The expert is -1 if its id is out of range.
__device__ __forceinline__ RouteSlot route_given_slot(const RouteArgs& args, u32 token) {
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
  return {expert, route_scale_weight(args, weight)};
}

/// Computes the slots of a token, stores the results that the caller wants, and returns the bin of
/// the lane's slot. Without kMany, args.experts is at most kRouteFewExperts.
template <bool kMany>
__device__ __forceinline__ RouteBin route_token(const RouteArgs& args, u32 token) {
  const u32 lane = ptx::lane_id();
  RouteSlot slot;
  if (route_has(args, kRouteGiven))
    slot = route_given_slot(args, token);
  else if (args.experts <= 64)
    slot = route_choose_slot<2>(args, token);
  else if (args.experts <= 128)
    slot = route_choose_slot<4>(args, token);
  else if (args.experts <= 256)
    slot = route_choose_slot<8>(args, token);
  else if (!kMany || args.experts <= kRouteFewExperts)
    slot = route_choose_slot<kRouteFewExperts / 32>(args, token);
  else
    slot = route_choose_slot<kRouteMaxExperts / 32>(args, token);
  if (lane >= args.top_k) return {args.local_experts, false};
  const u64 pair = static_cast<u64>(token) * args.top_k + lane;
  if (args.ids != 0) ptx::store_unit<4>(args.ids + pair * 4, static_cast<u32>(slot.expert));
  if (args.weights != 0) ptx::store_unit<4>(args.weights + pair * 4, __float_as_uint(slot.weight));
  if (slot.expert < 0) return {args.local_experts, true};
  if (args.expert_map == 0) return route_bin(args, slot.expert);
  const u32 mapped = ptx::load_after_wait<4>(args.expert_map + static_cast<u64>(slot.expert) * 4);
  return route_bin(args, static_cast<i32>(mapped));
}

/// Adds the numbers of invalid pairs of all lanes to the caller's counter.
__device__ __forceinline__ void route_count_invalid(const RouteArgs& args, u32 invalid) {
  if (args.invalid_count == 0) return;
  invalid = __reduce_add_sync(kAllLanes, invalid);
  if (ptx::lane_id() == 0 && invalid != 0)
    ptx::reduce_add_u64(args.invalid_count, static_cast<u64>(invalid));
}

}  // namespace tw
