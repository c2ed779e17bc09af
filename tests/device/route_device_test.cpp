// SPDX-License-Identifier: Apache-2.0
// Compares routing with float64 scores and a stable sort: random types, sizes, groups, maps and
// logits. A GPU must also produce the bits of the host device.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/float_formats.hpp"
#include "ops/route/route.hpp"
#include "tests/device/common/arena.hpp"
#include "tests/device/common/replay.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Result { kIds, kWeights, kCounts, kOffsets, kOrder, kTokens, kInverse, kFaults, kResults };
constexpr uint32_t kAllResults = (1u << kResults) - 1;

struct Case {
  RouteDesc desc;
  int64_t tokens = -1;
  uint32_t results = kAllResults;
  bool biased = false;
  bool mapped = false;
  std::vector<float> logits;  // tokens x experts
  std::vector<float> bias;
  std::vector<int64_t> ids;
  std::vector<float> given_weights;
  std::vector<int32_t> map;

  bool given() const { return (desc.flags & kRouteDescGivenIds) != 0; }
  bool renormalizes() const { return (desc.flags & kRouteDescRenormalize) != 0; }
  int64_t run_tokens() const { return tokens < 0 ? desc.tokens : tokens; }
  int64_t local() const { return desc.local_experts ? desc.local_experts : desc.experts; }
  int64_t groups() const { return desc.groups ? desc.groups : 1; }
  int64_t top_groups() const { return desc.top_groups ? desc.top_groups : groups(); }
  int64_t pitch() const { return desc.logits_pitch ? desc.logits_pitch : desc.experts; }
  bool wants(int result) const { return (results >> result & 1) != 0; }
  bool by_score() const {
    return biased || (groups() > 1 && desc.group_score == RouteGroupScore::top2);
  }
  float logit(int64_t t, int64_t e) const {
    return logits[static_cast<size_t>(t * desc.experts + e)];
  }
};

std::string describe(const Case& c) {
  const RouteDesc& d = c.desc;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s: tokens %d (%d), experts %d (%d local), top %d, groups %d of %d by %d, score "
                "%d, flags %u, scale %g, pitch %d, results 0x%x, bias %d, map %d, methods %u, "
                "max_sms %u",
                c.given() ? dtype_name(d.id_dtype) : dtype_name(d.dtype), int(d.tokens),
                int(c.tokens), int(d.experts), int(d.local_experts), int(d.top_k),
                int(d.top_groups), int(d.groups), int(d.group_score), int(d.score), d.flags,
                double(d.scale), int(d.logits_pitch), c.results, int(c.biased), int(c.mapped),
                d.methods & 63, d.max_sms);
  return text;
}

float rounded(DType dtype, float value) {
  if (dtype == DType::BF16) return bf16_to_float(float_to_bf16(value));
  if (dtype == DType::F16) return f16_to_float(float_to_f16(value));
  return value;
}

// An operand between guards of 256 bytes.
struct Operand {
  static constexpr uint64_t kGuard = 256;
  std::unique_ptr<Arena> arena;
  Operand(const std::shared_ptr<Device>& device, Stream& stream, int64_t bytes)
      : arena(new Arena(device, stream, static_cast<uint64_t>(bytes) + 2 * kGuard)) {
    std::memset(arena->image().data(), 0xa7, arena->image().size());
  }
  uint64_t address() const { return arena->address() + kGuard; }
  uint8_t* data() { return arena->image().data() + kGuard; }
};

template <class T>
void put(Operand& operand, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(operand.data(), values.data(), values.size() * sizeof(T));
}

int64_t result_bytes(const Case& c, int result) {
  const int64_t pairs = c.desc.tokens * c.desc.top_k;
  if (result == kCounts) return c.local() * 4;
  if (result == kOffsets) return (c.local() + 1) * dtype_bytes(c.desc.offset_dtype);
  return result == kFaults ? 8 : pairs * 4;
}

// The operands of a case on a device.
struct Operands {
  std::vector<Operand> inputs;  // logits, bias, ids, weights, map
  std::vector<Operand> results;
  std::unique_ptr<Operand> workspace;

  Operands(const Case& c, const std::shared_ptr<Device>& device, Stream& stream) {
    const RouteDesc& d = c.desc;
    const int64_t pairs = d.tokens * d.top_k;
    for (const int64_t bytes :
         {d.tokens * c.pitch() * 4, d.experts * 4, pairs * 8, pairs * 4, d.experts * 4})
      inputs.emplace_back(device, stream, bytes);
    for (int r = 0; r < kResults; ++r) results.emplace_back(device, stream, result_bytes(c, r));
    std::memset(results[kFaults].data(), 0, 8);
    put_logits(c);
    put(inputs[1], c.bias);
    put(inputs[3], c.given_weights);
    put(inputs[4], c.map);
    put_ids(c);
    for (Operand& operand : inputs) operand.arena->upload();
    for (Operand& operand : results) operand.arena->upload();
  }

  void put_logits(const Case& c) {
    const bool wide = c.desc.dtype == DType::F32;
    for (size_t i = 0; i < c.logits.size(); ++i) {
      const auto t = static_cast<int64_t>(i) / c.desc.experts;
      const auto e = static_cast<int64_t>(i) % c.desc.experts;
      const auto at = static_cast<size_t>(t * c.pitch() + e);
      const float value = c.logits[i];
      const uint16_t narrow =
          c.desc.dtype == DType::F16 ? float_to_f16(value) : float_to_bf16(value);
      if (wide)
        std::memcpy(inputs[0].data() + at * 4, &value, 4);
      else
        std::memcpy(inputs[0].data() + at * 2, &narrow, 2);
    }
  }
  void put_ids(const Case& c) {
    std::vector<int32_t> narrow(c.ids.begin(), c.ids.end());
    if (c.desc.id_dtype == DType::I64)
      put(inputs[2], c.ids);
    else
      put(inputs[2], narrow);
  }
  RouteRun run(const Case& c) const {
    RouteRun run;
    run.tokens = c.tokens;
    if (c.given())
      run.given_ids = inputs[2].address();
    else
      run.logits = inputs[0].address();
    if (c.biased) run.bias = inputs[1].address();
    if (c.given() && c.wants(kWeights)) run.given_weights = inputs[3].address();
    if (c.mapped) run.expert_map = inputs[4].address();
    uint64_t* const to[] = {&run.ids,   &run.weights,      &run.counts,  &run.offsets,
                            &run.order, &run.order_tokens, &run.inverse, &run.invalid_count};
    for (int r = 0; r < kResults; ++r)
      if (c.wants(r)) *to[r] = results[size_t(r)].address();
    return run;
  }
};

using Images = std::vector<std::vector<uint8_t>>;

// Runs the case on a device and returns the images of all results.
Images results_on(const std::shared_ptr<Device>& device, Stream& stream, const Case& c) {
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RoutePlan::create(device, c.desc, &plan));
  INFO(plan->explain());
  Operands operands(c, device, stream);
  const auto bytes = static_cast<int64_t>(plan->info().workspace_bytes);
  Operand workspace(device, stream, bytes);
  workspace.arena->upload();
  RouteRun run = operands.run(c);
  run.workspace = workspace.address();
  run.workspace_bytes = static_cast<uint64_t>(bytes);
  TW_REQUIRE_OK(static_cast<RoutePlan&>(*plan).run(stream, run));
  Images images;
  for (Operand& operand : operands.results) images.push_back(operand.arena->read());
  for (Operand& operand : operands.inputs)
    CHECK(first_difference(operand.arena->read(), operand.arena->image()) == -1);
  const auto after = workspace.arena->read();
  for (size_t i = 0; i < Operand::kGuard; ++i)
    REQUIRE((after[i] == 0xa7 && after[after.size() - 1 - i] == 0xa7));
  return images;
}

template <class T>
std::vector<T> values_of(const std::vector<uint8_t>& image) {
  std::vector<T> values((image.size() - 2 * Operand::kGuard) / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), image.data() + Operand::kGuard, values.size() * sizeof(T));
  return values;
}

// A token's scores in float64, and the keys by which its experts and groups are chosen.
struct Reference {
  std::vector<double> score;
  std::vector<double> key;  // NaN is below all numbers
  bool open = false;        // keys are too close for f32: any of their orders is allowed
};

bool better(double a, double b) {
  return !std::isnan(a) && (std::isnan(b) || a > b);
}

void look_for_close(std::vector<double> keys, bool* open) {
  std::sort(keys.begin(), keys.end(), better);
  for (size_t i = 1; i < keys.size(); ++i) {
    const double gap = keys[i - 1] - keys[i];
    if (gap > 0 && gap < 4e-6 * std::max(1.0, std::abs(keys[i]))) *open = true;
  }
}

double raw_score(RouteScore score, double x, double top) {
  if (std::isnan(x)) return 0;
  // The library returns 0 below these limits.
  if (score == RouteScore::sigmoid) return x < -83 ? 0 : 1 / (1 + std::exp(-x));
  return x == top ? 1 : x - top < -87 ? 0 : std::exp(x - top);
}

std::vector<double> keys_of(const Case& c, int64_t t, const std::vector<double>& score) {
  std::vector<double> keys;
  for (int64_t e = 0; e < c.desc.experts; ++e) {
    const double x = c.logit(t, e);
    const bool chosen = c.desc.score == RouteScore::softmax_chosen;
    double key = c.by_score() && !chosen ? score[size_t(e)] : x;
    if (c.biased) key += double{c.bias[size_t(e)]};
    keys.push_back(std::isnan(x) ? double{kNan} : key);
  }
  return keys;
}

std::vector<double> shares_of(std::vector<double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value = sum > 0 ? value / sum : value;
  return values;
}

void leave_best_groups(const Case& c, Reference* r, std::vector<bool>* taken) {
  const auto size = static_cast<size_t>(c.desc.experts / c.groups());
  std::vector<double> groups;
  for (size_t g = 0; g < static_cast<size_t>(c.groups()); ++g) {
    std::vector<double> own(r->key.begin() + static_cast<ptrdiff_t>(g * size),
                            r->key.begin() + static_cast<ptrdiff_t>((g + 1) * size));
    std::stable_sort(own.begin(), own.end(), better);
    const bool two = c.desc.group_score == RouteGroupScore::top2 && size > 1;
    groups.push_back(two ? own[0] + own[1] : own[0]);
  }
  look_for_close(groups, &r->open);
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return better(groups[a], groups[b]); });
  for (size_t i = static_cast<size_t>(c.top_groups()); i < order.size(); ++i)
    std::fill_n(taken->begin() + static_cast<ptrdiff_t>(order[i] * size), size, false);
}

// The experts of a token, best first.
std::vector<int64_t> chosen_experts(const Case& c, int64_t t, Reference* r) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t e = 0; e < c.desc.experts; ++e)
    if (better(c.logit(t, e), top)) top = c.logit(t, e);
  for (int64_t e = 0; e < c.desc.experts; ++e)
    r->score.push_back(raw_score(c.desc.score, c.logit(t, e), top));
  if (c.desc.score == RouteScore::softmax) r->score = shares_of(r->score);
  r->key = keys_of(c, t, r->score);
  if (c.by_score()) look_for_close(r->key, &r->open);
  std::vector<bool> taken(static_cast<size_t>(c.desc.experts), true);
  leave_best_groups(c, r, &taken);
  if (!c.by_score()) r->open = false;
  std::vector<int64_t> order;
  for (int64_t e = 0; e < c.desc.experts; ++e)
    if (taken[size_t(e)]) order.push_back(e);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return better(r->key[size_t(a)], r->key[size_t(b)]);
  });
  order.resize(static_cast<size_t>(c.desc.top_k));
  return order;
}

// The weights of slots with these scores.
std::vector<double> weights_of(const Case& c, std::vector<double> scores) {
  if (c.renormalizes()) scores = shares_of(scores);
  for (double& score : scores) score *= double{c.desc.scale};
  return scores;
}

void check_weights(const Case& c, int64_t t, const std::vector<double>& wanted,
                   const std::vector<float>& weights) {
  for (int64_t s = 0; s < c.desc.top_k; ++s) {
    const double got = weights[size_t(t * c.desc.top_k + s)];
    const double want = wanted[size_t(s)];
    CAPTURE(t);
    CAPTURE(s);
    CAPTURE(want);
    CAPTURE(got);
    REQUIRE(std::abs(got - want) <= 0x1p-16 * std::abs(want) + 1e-36);
  }
}

void check_scored(const Case& c, const std::vector<int32_t>& ids, const std::vector<float>& weights,
                  int* open) {
  for (int64_t t = 0; t < c.run_tokens(); ++t) {
    Reference r;
    const std::vector<int64_t> wanted = chosen_experts(c, t, &r);
    std::vector<double> scores;
    for (int64_t s = 0; s < c.desc.top_k; ++s) {
      const int64_t e = ids[size_t(t * c.desc.top_k + s)];
      REQUIRE((e >= 0 && e < c.desc.experts));
      CAPTURE(t);
      CAPTURE(s);
      if (!r.open) REQUIRE(e == wanted[size_t(s)]);
      scores.push_back(r.score[size_t(e)]);
    }
    *open += r.open ? 1 : 0;
    if (c.desc.score == RouteScore::softmax_chosen) {
      double top = -std::numeric_limits<double>::infinity();
      for (int64_t s = 0; s < c.desc.top_k; ++s) {
        const double x = c.logit(t, ids[size_t(t * c.desc.top_k + s)]);
        if (better(x, top)) top = x;
      }
      for (int64_t s = 0; s < c.desc.top_k; ++s)
        scores[size_t(s)] =
            raw_score(c.desc.score, c.logit(t, ids[size_t(t * c.desc.top_k + s)]), top);
      scores = shares_of(scores);
    }
    if (c.wants(kWeights)) check_weights(c, t, weights_of(c, scores), weights);
  }
}

void check_given(const Case& c, const std::vector<int32_t>& ids,
                 const std::vector<float>& weights) {
  for (int64_t t = 0; t < c.run_tokens(); ++t) {
    std::vector<double> scores;
    for (int64_t s = 0; s < c.desc.top_k; ++s) {
      const auto pair = static_cast<size_t>(t * c.desc.top_k + s);
      const int64_t id = c.ids[pair];
      REQUIRE(ids[pair] == (id >= 0 && id < c.desc.experts ? id : -1));
      scores.push_back(double{c.given_weights[pair]});
    }
    if (c.wants(kWeights)) check_weights(c, t, weights_of(c, scores), weights);
  }
}

// Replaces the results that depend on the order of pairs by their expected, exact values.
Images ordered(const Case& c, const std::vector<int32_t>& ids, const Images& images) {
  Images wanted = images;
  const auto local = static_cast<size_t>(c.local());
  const auto pairs = static_cast<size_t>(c.run_tokens() * c.desc.top_k);
  std::vector<size_t> bins(pairs);
  uint64_t faults = 0;
  for (size_t i = 0; i < pairs; ++i) {
    const int64_t mapped = ids[i] < 0 ? -2 : c.mapped ? c.map[size_t(ids[i])] : ids[i];
    const bool real = mapped >= 0 && mapped < c.local();
    bins[i] = real ? size_t(mapped) : local;
    faults += !real && mapped != -1;
  }
  std::vector<int32_t> order(pairs);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return bins[size_t(a)] < bins[size_t(b)]; });
  const auto set = [&](int result, size_t i, auto value) {
    std::memcpy(wanted[size_t(result)].data() + Operand::kGuard + i * sizeof value, &value,
                sizeof value);
  };
  for (size_t place = 0; place < pairs; ++place) {
    const auto pair = static_cast<size_t>(order[place]);
    const bool dropped = bins[pair] == local;
    set(kOrder, place, dropped ? -1 : order[place]);
    set(kTokens, place, dropped ? -1 : order[place] / int32_t(c.desc.top_k));
    set(kInverse, pair, dropped ? -1 : int32_t(place));
  }
  size_t first = 0;
  for (size_t bin = 0; bin <= local; ++bin) {
    const auto count = static_cast<size_t>(std::count(bins.begin(), bins.end(), bin));
    if (bin < local) set(kCounts, bin, int32_t(count));
    if (c.desc.offset_dtype == DType::I64)
      set(kOffsets, bin, int64_t(first));
    else
      set(kOffsets, bin, int32_t(first));
    first += count;
  }
  set(kFaults, 0, faults);
  return wanted;
}

struct Lab {
  std::shared_ptr<Device> device, host;
  std::unique_ptr<Stream> stream, host_stream;
  std::mt19937_64 random;
  int tokens = 0, open = 0;

  explicit Lab(uint64_t seed) : random(seed) {
    device = open_test_device();
    if (!device) return;
    stream = new_stream(device);
    if (device->info().kind == DeviceKind::host) return;
    TW_REQUIRE_OK(open_host_device(&host));
    host_stream = new_stream(host);
  }
};

void check_case(Lab& lab, const Case& c) {
  INFO(describe(c));
  const Images images = results_on(lab.device, *lab.stream, c);
  if (lab.host) {
    const Images same = results_on(lab.host, *lab.host_stream, c);
    for (int r = 0; r < kResults; ++r) {
      CAPTURE(r);
      REQUIRE(first_difference(images[size_t(r)], same[size_t(r)]) == -1);
    }
  }
  Case all = c;  // the reference needs all ids
  all.results = kAllResults;
  const Images known = c.wants(kIds) ? images
                                     : results_on(lab.host ? lab.host : lab.device,
                                                  lab.host ? *lab.host_stream : *lab.stream, all);
  const auto ids = values_of<int32_t>(known[kIds]);
  const auto weights = values_of<float>(images[kWeights]);
  if (c.given())
    check_given(c, ids, weights);
  else
    check_scored(c, ids, weights, &lab.open);
  lab.tokens += int(c.run_tokens());
  const Images wanted = ordered(c, ids, images);
  for (const int r : {kCounts, kOffsets, kOrder, kTokens, kInverse, kFaults}) {
    CAPTURE(r);
    if (c.wants(r)) REQUIRE(first_difference(images[size_t(r)], wanted[size_t(r)]) == -1);
  }
  for (int r = 0; r < kResults; ++r) {  // unrequested results and the guards are unchanged
    const std::vector<uint8_t>& image = images[size_t(r)];
    const auto outside = [&](size_t i) {
      return i < Operand::kGuard || i >= image.size() - Operand::kGuard;
    };
    for (size_t i = 0; i < image.size(); ++i)
      if (outside(i) || (!c.wants(r) && r != kFaults)) REQUIRE(image[i] == 0xa7);
  }
}

// Distributions of logits.
enum class Logits { normal, grid, same, one, wild, last_kind = wild };

float draw_logit(std::mt19937_64& random, Logits kind, bool favourite) {
  switch (kind) {
    case Logits::grid:
      return static_cast<float>(pick(random, -8, 8)) / 4;
    case Logits::same:
      return 0.5f;
    case Logits::one:
      return favourite ? 30.0f : static_cast<float>(pick(random, -64, 64)) / 16;
    case Logits::wild: {
      const float special[] = {kNan,   -kNan, kInfinity, -kInfinity, 0.0f,   -0.0f,
                               1e-40f, 3e38f, -3e38f,    95.0f,      -120.0f};
      const auto i = static_cast<size_t>(pick(random, 0, 30));
      return i < 11 ? special[i] : std::normal_distribution<float>(0, 20)(random);
    }
    default:
      return std::normal_distribution<float>(0, 2)(random);
  }
}

void draw_logits(std::mt19937_64& random, Logits kind, Case* c) {
  const int64_t favourite = pick(random, 0, c->desc.experts - 1);
  c->logits.clear();
  for (int64_t t = 0; t < c->desc.tokens; ++t)
    for (int64_t e = 0; e < c->desc.experts; ++e)
      c->logits.push_back(rounded(c->desc.dtype, draw_logit(random, kind, e == favourite)));
}

void draw_given(std::mt19937_64& random, Case* c) {
  const int64_t pairs = c->desc.tokens * c->desc.top_k;
  const bool wild = pick(random, 0, 1) != 0;
  const bool wide = c->desc.id_dtype == DType::I64;
  const int64_t wrong[] = {-1,
                           c->desc.experts,
                           INT32_MAX,
                           INT32_MIN,
                           wide ? (int64_t{1} << 32) + 1 : -7,
                           wide ? INT64_MIN : -9};
  for (int64_t i = 0; i < pairs; ++i) {
    const bool bad = wild && pick(random, 0, 3) == 0;
    c->ids.push_back(bad ? wrong[pick(random, 0, 5)] : pick(random, 0, c->desc.experts - 1));
    c->given_weights.push_back(static_cast<float>(pick(random, 0, 1000)) / 1000);
  }
}

// Draws the map of local experts: a range, all, none, or invalid numbers.
void draw_map(std::mt19937_64& random, Case* c) {
  const auto experts = c->desc.experts;
  const int64_t kind = pick(random, 0, 3);
  if (kind != 1) c->desc.local_experts = pick(random, 1, experts);
  const int64_t local = c->local();
  const int64_t first = pick(random, 0, experts - local);
  for (int64_t e = 0; e < experts; ++e) {
    int64_t number = e >= first && e < first + local ? e - first : -1;
    if (kind == 2) number = -1;
    if (kind == 3 && pick(random, 0, 3) == 0) number = pick(random, -3, local + 2);
    c->map.push_back(static_cast<int32_t>(number));
  }
}

void draw_groups(std::mt19937_64& random, RouteDesc* d) {
  std::vector<int64_t> fit;
  for (int64_t groups = 1; groups <= 32; ++groups)
    if (d->experts % groups == 0) fit.push_back(groups);
  d->groups = fit[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(fit.size()) - 1))];
  d->top_groups = pick(random, 1, d->groups);
  while (d->top_groups * (d->experts / d->groups) < d->top_k) ++d->top_groups;
  if (d->groups > 1 && pick(random, 0, 1)) d->group_score = RouteGroupScore::top2;
}

Case random_case(std::mt19937_64& random) {
  constexpr int64_t kExperts[] = {1, 2, 8, 31, 32, 33, 60, 64, 128, 160, 256, 384, 512, 768, 1024};
  Case c;
  RouteDesc& d = c.desc;
  d.experts = kExperts[pick(random, 0, 14)];
  d.top_k = pick(random, 1, std::min<int64_t>(d.experts, pick(random, 0, 3) ? 8 : 32));
  const int64_t most[] = {1, 4, 40, 300, d.experts > 256 ? 300 : 700};
  d.tokens = pick(random, 0, most[pick(random, 0, 4)]);
  d.dtype = std::array{DType::F32, DType::BF16, DType::F16}[size_t(pick(random, 0, 2))];
  d.offset_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.score = static_cast<RouteScore>(pick(random, 0, 2));
  if (pick(random, 0, 1)) d.flags |= kRouteDescRenormalize;
  if (pick(random, 0, 2) == 0) d.scale = 2.5f;
  if (pick(random, 0, 3) == 0) d.logits_pitch = d.experts + pick(random, 0, 9);
  if (pick(random, 0, 5) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 9));
  if (pick(random, 0, 2) == 0) d.methods = ~(1u << kRouteSmall);
  if (pick(random, 0, 4) == 0) c.tokens = pick(random, 0, d.tokens);
  if (pick(random, 0, 3) == 0) c.results = static_cast<uint32_t>(pick(random, 1, kAllResults));
  if ((c.results & ~(1u << kFaults)) == 0) c.results |= 1u << kOrder;
  if (pick(random, 0, 3) == 0) {
    d.flags |= kRouteDescGivenIds;
    d.id_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
    draw_given(random, &c);
  } else {
    if (pick(random, 0, 1)) draw_groups(random, &d);
    draw_logits(random, static_cast<Logits>(pick(random, 0, 4)), &c);
    c.biased = pick(random, 0, 2) == 0;
    for (int64_t e = 0; e < d.experts && c.biased; ++e)
      c.bias.push_back(static_cast<float>(pick(random, -512, 512)) / 1024);
  }
  c.mapped = pick(random, 0, 1) != 0;
  if (c.mapped) draw_map(random, &c);
  return c;
}

}  // namespace

TEST_CASE("route: a thousand random routings") {
  Lab lab(1);
  if (!lab.device) return;
  // TW_EVERY=n runs every n-th case, for tools that slow kernels down.
  const char* every = std::getenv("TW_EVERY");
  const int step = every ? std::max(1, std::atoi(every)) : 1;
  for (int i = 0; i < 1000; i += step) {
    CAPTURE(i);
    check_case(lab, random_case(lab.random));
  }
  // Tokens whose choice is open are not checked in full, so most tokens must not be.
  CHECK(lab.open * 3 < lab.tokens);
}

TEST_CASE("route: the shapes of known models") {
  Lab lab(2);
  if (!lab.device) return;
  struct Model {
    int64_t experts, top_k, groups, top_groups;
    RouteScore score;
    bool biased;
  };
  const Model models[] = {{8, 2, 0, 0, RouteScore::softmax, false},
                          {128, 4, 0, 0, RouteScore::softmax_chosen, false},
                          {256, 8, 8, 4, RouteScore::sigmoid, true},
                          {512, 10, 0, 0, RouteScore::softmax, false}};
  for (const Model& m : models)
    for (const int64_t tokens : {1, 16, 128, 129, 257, 2048}) {
      Case c;
      c.desc.experts = m.experts, c.desc.top_k = m.top_k, c.desc.tokens = tokens;
      c.desc.groups = m.groups, c.desc.top_groups = m.top_groups, c.desc.score = m.score;
      if (m.groups > 1) c.desc.group_score = RouteGroupScore::top2;
      c.desc.flags = kRouteDescRenormalize;
      c.desc.dtype = DType::BF16;
      c.biased = m.biased;
      for (int64_t e = 0; e < m.experts && m.biased; ++e)
        c.bias.push_back(static_cast<float>(pick(lab.random, -100, 100)) / 1000);
      draw_logits(lab.random, Logits::normal, &c);
      check_case(lab, c);
    }
}

TEST_CASE("route: chunks of several tokens a warp") {
  Lab lab(4);
  if (!lab.device) return;
  for (const int64_t tokens : {4097, 9000}) {
    Case c;
    c.desc.experts = 16, c.desc.top_k = 8, c.desc.tokens = tokens;
    draw_logits(lab.random, Logits::grid, &c);
    check_case(lab, c);
    c.desc.max_sms = 3;
    c.mapped = true;
    draw_map(lab.random, &c);
    check_case(lab, c);
  }
}

TEST_CASE("route: one graph serves other logits") {
  Lab lab(3);
  if (!lab.device) return;
  for (const int64_t tokens : {3, 200, 500}) {
    Case c;
    c.desc.experts = 96, c.desc.top_k = 6, c.desc.tokens = tokens;
    draw_logits(lab.random, Logits::normal, &c);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RoutePlan::create(lab.device, c.desc, &plan));
    Operands operands(c, lab.device, *lab.stream);
    Operand workspace(lab.device, *lab.stream, int64_t(plan->info().workspace_bytes));
    RouteRun run = operands.run(c);
    run.workspace = workspace.address();
    run.workspace_bytes = plan->info().workspace_bytes;
    TW_REQUIRE_OK(lab.stream->synchronize());
    Replay replay(lab.device, [&](Stream& stream) {
      TW_REQUIRE_OK(static_cast<RoutePlan&>(*plan).run(stream, run));
    });
    for (int again = 0; again < 4; ++again) {
      draw_logits(lab.random, again == 2 ? Logits::one : Logits::grid, &c);
      operands.put_logits(c);
      operands.inputs[0].arena->upload();
      operands.results[kFaults].arena->upload();
      TW_REQUIRE_OK(lab.stream->synchronize());
      replay();
      Images images;
      for (Operand& operand : operands.results) images.push_back(operand.arena->read());
      const Images wanted = results_on(lab.device, *lab.stream, c);
      for (int r = 0; r < kResults; ++r)
        CHECK(first_difference(images[size_t(r)], wanted[size_t(r)]) == -1);
    }
  }
}
