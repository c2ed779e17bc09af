// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer: a routing, a gated grouped GEMM that gathers the tokens, and one that
// adds its rows to the tokens. It is captured once and replayed with other logits.
#include <cmath>

#include "base/float_formats.hpp"
#include "ops/grouped/grouped.hpp"
#include "ops/route/route.hpp"
#include "tests/device/common/counts.hpp"
#include "tests/device/common/fixture.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Sizes {
  int64_t tokens, experts, local, top_k, width, inner;
  int64_t pairs() const { return tokens * top_k; }
};

using Memory = std::unique_ptr<Guarded>;

template <class T>
std::vector<T> values_of(Guarded& memory) {
  memory.read();
  std::vector<T> values(memory.bytes() / sizeof(T));
  std::memcpy(values.data(), memory.data(), values.size() * sizeof(T));
  return values;
}

template <class T>
void put(Guarded& memory, const std::vector<T>& values) {
  std::memcpy(memory.data(), values.data(), values.size() * sizeof(T));
  memory.upload();
}

// The three plans of a layer and their memory.
struct Layer {
  Sizes n;
  std::shared_ptr<Device> device;
  Stream& stream;
  std::unique_ptr<Plan> route, up, down;
  Memory logits, map, ids, weights, offsets, order, inverse, tokens, up_b, inner, down_b, out;
  Memory workspace;
  std::vector<float> x, b1, b2;  // operands, rounded to bf16

  Memory memory(int64_t count, int64_t bytes) const {
    return std::make_unique<Guarded>(device, stream, static_cast<uint64_t>(count * bytes));
  }
  Memory bf16(std::mt19937_64& random, int64_t count, std::vector<float>* values) const {
    std::normal_distribution<float> normal(0, 0.5f);
    Memory made = memory(count, 2);
    std::vector<uint16_t> bits;
    for (int64_t i = 0; i < count; ++i) {
      bits.push_back(float_to_bf16(normal(random)));
      values->push_back(bf16_to_float(bits.back()));
    }
    put(*made, bits);
    return made;
  }
  Layer(const std::shared_ptr<Device>& d, Stream& s, std::mt19937_64& random, const Sizes& sizes)
      : n(sizes), device(d), stream(s) {
    logits = memory(n.tokens * n.experts, 4), map = memory(n.experts, 4);
    ids = memory(n.pairs(), 4), weights = memory(n.pairs(), 4);
    offsets = memory(n.local + 1, 4);
    order = memory(n.pairs(), 4), inverse = memory(n.pairs(), 4);
    tokens = bf16(random, n.tokens * n.width, &x);
    up_b = bf16(random, n.local * n.width * 2 * n.inner, &b1);
    inner = memory(n.pairs() * n.inner, 2);
    down_b = bf16(random, n.local * n.inner * n.width, &b2);
    out = memory(n.tokens * n.width, 4);
    make_route();
    make_products();
    // The runs are in order, so they share a workspace.
    uint64_t bytes = 0;
    for (const Plan* plan : {route.get(), up.get(), down.get()})
      bytes = std::max(bytes, plan->info().workspace_bytes);
    workspace = memory(static_cast<int64_t>(bytes), 1);
  }
  void make_route() {
    RouteDesc desc;
    desc.tokens = n.tokens, desc.experts = n.experts, desc.top_k = n.top_k;
    desc.local_experts = n.local;
    desc.flags = kRouteDescRenormalize;
    TW_REQUIRE_OK(RoutePlan::create(device, desc, &route));
  }
  void make_products() {
    GroupedDesc desc;
    desc.grouping = Grouping::offsets;
    desc.groups = n.local;
    desc.m = n.pairs(), desc.n = 2 * n.inner, desc.k = n.width;
    desc.flags = kGroupedDescGather;
    desc.a_count = n.tokens, desc.a_divisor = n.top_k;
    desc.activation = Activation::silu;
    desc.gate = Gate::halves;
    TW_REQUIRE_OK(GroupedPlan::create(device, desc, &up));
    desc = {};
    desc.d_dtype = DType::F32;
    desc.grouping = Grouping::offsets;
    desc.groups = n.local;
    desc.m = n.pairs(), desc.n = n.width, desc.k = n.inner;
    desc.flags = kGroupedDescScatter | kGroupedDescRowWeightByIndex | kGroupedDescInverse;
    desc.combine = Combine::sum;
    desc.d_count = n.tokens, desc.d_divisor = n.top_k;
    TW_REQUIRE_OK(GroupedPlan::create(device, desc, &down));
  }
  void run() const {
    RouteRun routing{.logits = logits->address(), .expert_map = map->address()};
    routing.ids = ids->address(), routing.weights = weights->address();
    routing.offsets = offsets->address();
    routing.order = order->address(), routing.inverse = inverse->address();
    GroupedRun gated{.a = tokens->address(), .b = up_b->address(), .d = inner->address()};
    gated.groups = offsets->address(), gated.a_rows = order->address();
    GroupedRun added{.a = inner->address(), .b = down_b->address(), .d = out->address()};
    added.groups = offsets->address(), added.d_rows = order->address();
    added.row_weights = weights->address(), added.inverse = inverse->address();
    routing.workspace = gated.workspace = added.workspace = workspace->address();
    routing.workspace_bytes = gated.workspace_bytes = added.workspace_bytes = workspace->bytes();
    TW_REQUIRE_OK(static_cast<RoutePlan&>(*route).run(stream, routing));
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*up).run(stream, gated));
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*down).run(stream, added));
  }

  // A token's inner layer with a local expert.
  std::vector<double> inner_of(int64_t t, int64_t e) const {
    std::vector<double> values;
    for (int64_t i = 0; i < n.inner; ++i) {
      double gate = 0, linear = 0;
      for (int64_t w = 0; w < n.width; ++w) {
        const auto row = static_cast<size_t>((e * n.width + w) * 2 * n.inner + i);
        const double token = double(x[size_t(t * n.width + w)]);
        gate += token * double(b1[row]);
        linear += token * double(b1[row + size_t(n.inner)]);
      }
      values.push_back(gate / (1 + std::exp(-gate)) * linear);
    }
    return values;
  }
  void check() {
    const auto chosen = values_of<int32_t>(*ids), local = values_of<int32_t>(*map);
    const auto shares = values_of<float>(*weights), got = values_of<float>(*out);
    for (int64_t t = 0; t < n.tokens; ++t) {
      std::vector<double> sums(size_t(n.width), 0), sizes(size_t(n.width), 0);
      for (int64_t pair = t * n.top_k; pair < (t + 1) * n.top_k; ++pair) {
        const int64_t e = local[size_t(chosen[size_t(pair)])];
        if (e < 0) continue;
        const std::vector<double> values = inner_of(t, e);
        for (int64_t i = 0; i < n.inner * n.width; ++i) {
          const double product = double(shares[size_t(pair)]) * values[size_t(i / n.width)] *
                                 double(b2[size_t(e * n.inner * n.width + i)]);
          sums[size_t(i % n.width)] += product;
          sizes[size_t(i % n.width)] += std::abs(product);
        }
      }
      for (int64_t w = 0; w < n.width; ++w) {
        CAPTURE(t);
        CAPTURE(w);
        // The bound is that of the inner layer, which is bf16.
        REQUIRE(std::abs(double(got[size_t(t * n.width + w)]) - sums[size_t(w)]) <=
                0x1p-8 * sizes[size_t(w)] + 1e-5);
      }
    }
    REQUIRE(out->guards_intact());
  }
};

void draw_logits(Layer& layer, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(size_t(layer.n.tokens * layer.n.experts));
  for (float& value : logits) value = normal(random);
  put(*layer.logits, logits);
  // The local experts of a rank are contiguous.
  const int64_t first = pick(random, 0, layer.n.experts - layer.n.local);
  std::vector<int32_t> map;
  for (int64_t e = 0; e < layer.n.experts; ++e)
    map.push_back(e >= first && e < first + layer.n.local ? static_cast<int32_t>(e - first) : -1);
  put(*layer.map, map);
}

}  // namespace

TEST_CASE("grouped: a captured layer serves other logits and other local experts") {
  const auto device = open_test_device();
  if (!device) return;
  std::mt19937_64 random(1);
  const auto stream = new_stream(device);
  constexpr Sizes kSizes[] = {
      {1, 8, 8, 2, 32, 24}, {37, 16, 16, 4, 40, 16}, {64, 16, 4, 4, 24, 8}, {300, 8, 3, 2, 16, 8}};
  for (const Sizes& sizes : kSizes) {
    Layer layer(device, *stream, random, sizes);
    std::unique_ptr<Graph> graph;
    TW_REQUIRE_OK(stream->begin_capture());
    layer.run();
    TW_REQUIRE_OK(stream->end_capture(&graph));
    TW_REQUIRE_OK(graph->instantiate());
    for (int i = 0; i < cases_here(100, 20); ++i) {
      CAPTURE(i);
      draw_logits(layer, random);
      TW_REQUIRE_OK(graph->launch(*stream));
      TW_REQUIRE_OK(stream->synchronize());
      layer.check();
    }
  }
}
