// SPDX-License-Identifier: Apache-2.0
// Host bodies of the route kernels. They repeat the kernels' computations and give the same bits.
// The family's kernel entries are at the end.
#include <algorithm>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/route/route_math.h"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

template <class T>
T load(u64 address, u64 index) {
  T value;
  std::memcpy(&value, reinterpret_cast<const T*>(address) + index, sizeof value);
  return value;
}

template <class T>
void store(u64 address, u64 index, T value) {
  std::memcpy(reinterpret_cast<T*>(address) + index, &value, sizeof value);
}

struct HostToken {
  u32 keys[kRouteMaxExperts];
  i32 expert[kRouteMaxTopK];
  float weight[kRouteMaxTopK];
};

u32 load_key(const RouteArgs& args, u64 row, u32 expert) {
  if (args.logit_type == kRouteF32) return route_key(load<float>(row, expert));
  return route_key(route_widen(args.logit_type, load<uint16_t>(row, expert)));
}

float largest_value(const u32* keys, u32 count) {
  return route_value(*std::max_element(keys, keys + count));
}

// Sums in the order of the kernels: first over the experts of each lane, then over the warp.
float factor_of(const u32* keys, u32 count, float top) {
  float lanes[32] = {};
  for (u32 e = 0; e < count; ++e)
    lanes[e % 32] = route_add(lanes[e % 32], route_numerator(keys[e], top));
  return route_factor(route_tree(lanes));
}

float sum_of_slots(const float* values, u32 count) {
  float lanes[32] = {};
  std::copy(values, values + count, lanes);
  return route_tree(lanes);
}

void score_keys(const RouteArgs& args, u32* keys, float top, float factor) {
  for (u32 e = 0; e < args.experts; ++e) {
    const float bias = args.bias == 0 ? 0.0f : load<float>(args.bias, e);
    const float score = args.score == kRouteSoftmaxChosen
                            ? route_value(keys[e])
                            : route_score_of(args.score, keys[e], top, factor);
    keys[e] = route_biased(keys[e], score, bias);
  }
}

u32 group_key(const RouteArgs& args, const u32* keys, u32 group) {
  u32 best = kRouteNoKey;
  u32 second = kRouteNoKey;
  for (u32 e = group * args.group_size; e < (group + 1) * args.group_size; ++e) {
    second = std::max(second, std::min(best, keys[e]));
    best = std::max(best, keys[e]);
  }
  return route_has(args, kRouteGroupTop2) ? route_pair_key(best, second) : best;
}

void limit_groups(const RouteArgs& args, u32* keys) {
  u32 groups[kRouteMaxGroups] = {};
  for (u32 g = 0; g < args.groups; ++g) groups[g] = group_key(args, keys, g);
  for (u32 g = 0; g < args.groups; ++g) {
    u32 better = 0;
    for (u32 other = 0; other < args.groups; ++other)
      better += groups[other] > groups[g] || (groups[other] == groups[g] && other < g) ? 1 : 0;
    if (better < args.top_groups) continue;
    std::fill_n(keys + g * args.group_size, args.group_size, kRouteNoKey);
  }
}

void scale_weights(const RouteArgs& args, float* weights) {
  const float sum = sum_of_slots(weights, args.top_k);
  for (u32 s = 0; s < args.top_k; ++s) {
    const float share =
        route_has(args, kRouteRenormalize) ? route_normalize(weights[s], sum) : weights[s];
    weights[s] = route_multiply(share, args.scale);
  }
}

void weigh(const RouteArgs& args, u64 row, float top, float factor, HostToken* token) {
  u32 keys[kRouteMaxTopK] = {};
  for (u32 s = 0; s < args.top_k; ++s)
    keys[s] = load_key(args, row, static_cast<u32>(token->expert[s]));
  if (args.score == kRouteSoftmaxChosen) {
    top = largest_value(keys, args.top_k);
    factor = factor_of(keys, args.top_k, top);
  }
  for (u32 s = 0; s < args.top_k; ++s)
    token->weight[s] = route_score_of(args.score, keys[s], top, factor);
  scale_weights(args, token->weight);
}

void score_token(const RouteArgs& args, u32 number, HostToken* token) {
  const u64 row = args.logits + number * static_cast<u64>(args.pitch);
  u32* const keys = token->keys;
  for (u32 e = 0; e < args.experts; ++e) keys[e] = load_key(args, row, e);
  float top = 0.0f;
  float factor = 1.0f;
  if (args.score == kRouteSoftmax) {
    top = largest_value(keys, args.experts);
    factor = factor_of(keys, args.experts, top);
  }
  if (route_has(args, kRouteByScore)) score_keys(args, keys, top, factor);
  if (args.groups > 1) limit_groups(args, keys);
  for (u32 s = 0; s < args.top_k; ++s) {
    u32* const best = std::max_element(keys, keys + args.experts);
    token->expert[s] = static_cast<i32>(best - keys);
    *best = kRouteNoKey;
  }
  if (args.weights != 0) weigh(args, row, top, factor, token);
}

void given_token(const RouteArgs& args, u32 number, HostToken* token) {
  for (u32 s = 0; s < args.top_k; ++s) {
    const u64 pair = static_cast<u64>(number) * args.top_k + s;
    const i64 id =
        args.id_bytes == 8 ? load<i64>(args.given_ids, pair) : i64{load<i32>(args.given_ids, pair)};
    token->expert[s] = id >= 0 && id < i64{args.experts} ? static_cast<i32>(id) : -1;
    token->weight[s] = args.weights == 0 ? 0.0f : load<float>(args.given_weights, pair);
  }
  scale_weights(args, token->weight);
}

RouteBin bin_of(const RouteArgs& args, i32 expert) {
  if (expert < 0) return {args.local_experts, true};
  if (args.expert_map == 0) return route_bin(args, expert);
  return route_bin(args, load<i32>(args.expert_map, static_cast<u64>(expert)));
}

// Routes a token, calls `visit(pair, bin)` for each slot, and returns the number of invalid pairs.
template <class Visit>
u64 route_token(const RouteArgs& args, u32 number, Visit visit) {
  HostToken token;
  if (route_has(args, kRouteGiven))
    given_token(args, number, &token);
  else
    score_token(args, number, &token);
  u64 invalid = 0;
  for (u32 s = 0; s < args.top_k; ++s) {
    const u64 pair = static_cast<u64>(number) * args.top_k + s;
    if (args.ids != 0) store(args.ids, pair, token.expert[s]);
    if (args.weights != 0) store(args.weights, pair, token.weight[s]);
    const RouteBin bin = bin_of(args, token.expert[s]);
    invalid += bin.invalid ? 1 : 0;
    visit(pair, bin.bin);
  }
  return invalid;
}

void count_invalid(const RouteArgs& args, u64 invalid) {
  if (args.invalid_count != 0)
    store(args.invalid_count, 0, load<u64>(args.invalid_count, 0) + invalid);
}

// Writes the offset and the count of a bin whose first place is `first`.
void store_bin(const RouteArgs& args, u32 bin, u32 first, u32 total) {
  if (args.offsets != 0 && args.offset_bytes == 8) store(args.offsets, bin, u64{first});
  if (args.offsets != 0 && args.offset_bytes == 4) store(args.offsets, bin, first);
  if (args.counts != 0 && bin < args.local_experts) store(args.counts, bin, total);
}

void store_place(const RouteArgs& args, u32 pair, u32 bin, u32 place) {
  const bool dropped = bin == args.local_experts;
  if (args.order != 0) store(args.order, place, dropped ? ~0u : pair);
  if (args.order_tokens != 0) store(args.order_tokens, place, dropped ? ~0u : pair / args.top_k);
  if (args.inverse != 0) store(args.inverse, pair, dropped ? ~0u : place);
}

// Replaces the total of each bin by its first place.
void first_places(const RouteArgs& args, u32 (&places)[kRouteMaxBins]) {
  u32 first = 0;
  for (u32 bin = 0; bin < route_bin_count(args); ++bin) {
    const u32 total = places[bin];
    store_bin(args, bin, first, total);
    places[bin] = first;
    first += total;
  }
}

void route_small_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const RouteArgs*>(arguments);
  const auto bins = reinterpret_cast<u64>(engine.shared());
  u32 places[kRouteMaxBins] = {};
  u64 invalid = 0;
  for (u32 token = 0; token < args.tokens; ++token)
    invalid += route_token(args, token, [&](u64 pair, u32 bin) {
      store(bins, pair, static_cast<uint16_t>(bin));
      ++places[bin];
    });
  count_invalid(args, invalid);
  if (!route_has(args, kRouteOrders)) return;
  first_places(args, places);
  for (u32 pair = 0; pair < args.tokens * args.top_k; ++pair) {
    const u32 bin = load<uint16_t>(bins, pair);
    store_place(args, pair, bin, places[bin]++);
  }
}

void route_score_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const RouteArgs*>(arguments);
  const bool orders = route_has(args, kRouteOrders);
  u64 invalid = 0;
  for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
    u32 counts[kRouteMaxBins] = {};
    const u32 first = chunk * args.chunk_tokens;
    for (u32 token = first; token < std::min(first + args.chunk_tokens, args.tokens); ++token)
      invalid += route_token(args, token, [&](u64 pair, u32 bin) {
        ++counts[bin];
        if (orders) store(args.pair_bins, pair, static_cast<uint16_t>(bin));
      });
    for (u32 bin = 0; orders && bin < route_bin_count(args); ++bin)
      store(args.chunk_counts, u64{bin} * args.chunks + chunk, counts[bin]);
  }
  count_invalid(args, invalid);
}

void route_many_host(HostEngine& engine, const void* arguments) {
  route_score_host(engine, arguments);
}

void route_scan_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const RouteArgs*>(arguments);
  for (u32 bin = 0; bin < route_bin_count(args); ++bin) {
    u32 before = 0;
    for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
      const u64 at = u64{bin} * args.chunks + chunk;
      const u32 own = load<u32>(args.chunk_counts, at);
      store(args.chunk_counts, at, before);
      before += own;
    }
    store(args.bin_totals, bin, before);
  }
}

void route_place_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const RouteArgs*>(arguments);
  u32 first[kRouteMaxBins] = {};
  for (u32 bin = 0; bin < route_bin_count(args); ++bin)
    first[bin] = load<u32>(args.bin_totals, bin);
  first_places(args, first);
  for (u32 chunk = 0; chunk < args.chunks; ++chunk) {
    u32 places[kRouteMaxBins] = {};
    for (u32 bin = 0; bin < route_bin_count(args); ++bin)
      places[bin] = first[bin] + load<u32>(args.chunk_counts, u64{bin} * args.chunks + chunk);
    const u32 begin = chunk * args.chunk_tokens;
    const u32 end = std::min(begin + args.chunk_tokens, args.tokens);
    for (u32 pair = begin * args.top_k; pair < end * args.top_k; ++pair) {
      const u32 bin = load<uint16_t>(args.pair_bins, pair);
      store_place(args, pair, bin, places[bin]++);
    }
  }
}

#define TW_ROUTE_SMALL(feature, part, symbol) \
  TW_TABLE_ENTRY(route, feature, part, symbol, kRouteScoreThreads, kRouteSmall)
#define TW_ROUTE_SCORE(feature, part, symbol) \
  TW_TABLE_ENTRY(route, feature, part, symbol, kRouteScoreThreads, kRouteScore)
#define TW_ROUTE_MANY(feature, part, symbol) \
  TW_TABLE_ENTRY(route, feature, part, symbol, kRouteScoreThreads, kRouteMany)
#define TW_ROUTE_SCAN(feature, part, symbol) \
  TW_TABLE_ENTRY(route, feature, part, symbol, kRouteThreads, kRouteScan)
#define TW_ROUTE_PLACE(feature, part, symbol) \
  TW_TABLE_ENTRY(route, feature, part, symbol, kRouteThreads, kRoutePlace)

constexpr KernelEntry kEntries[] = {
#include "kernels/route/kernels.inc"
};

}  // namespace

KernelEntries route_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
