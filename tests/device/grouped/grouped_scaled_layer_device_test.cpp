// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer in 8-bit floats: routing, quantization of the tokens, a gated grouped
// GEMM that gathers them, quantization of its rows, and a grouped GEMM that adds to the tokens. It
// is captured once and replayed with other logits and tokens.
#include <algorithm>
#include <cmath>

#include "base/float_formats.hpp"
#include "kernels/common/convert.h"
#include "ops/grouped/grouped.hpp"
#include "ops/quantize/quantize.hpp"
#include "ops/route/route.hpp"
#include "tests/device/common/counts.hpp"
#include "tests/device/common/fixture.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kBlock = 128;

struct Sizes {
  int64_t tokens, experts, top_k, width, inner;
  int64_t pairs() const { return tokens * top_k; }
};

int64_t blocks(int64_t extent) {
  return (extent + kBlock - 1) / kBlock;
}

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

/// Rows of 8-bit floats with a scale for each 128 elements of a row; the scales are M-major.
struct Narrow {
  int64_t rows, columns;
  Memory values, scales;
  std::unique_ptr<Plan> plan;  // quantizes them from bf16

  double at(const std::vector<uint8_t>& v, const std::vector<float>& s, int64_t r,
            int64_t k) const {
    return double{decode(kFormatE4M3, v[size_t(r * columns + k)])} *
           double{s[size_t(k / kBlock * rows + r)]};
  }
};

/// Weight matrices of n rows of k 8-bit floats with a scale for each block of 128 x 128.
struct Weights {
  int64_t n, k;
  Memory values, scales;
  std::vector<uint8_t> v;
  std::vector<float> s;

  double at(int64_t e, int64_t row, int64_t i) const {
    return double{decode(kFormatE4M3, v[size_t((e * n + row) * k + i)])} *
           double{s[size_t((e * blocks(n) + row / kBlock) * blocks(k) + i / kBlock)]};
  }
};

/// A sum, what the tensor cores may lose of it (gemm_scaled_operands.hpp), and the sum of
/// magnitudes.
struct Sum {
  double value = 0, lost = 0, size = 0;
};

/// Sums product(k) over k. Within a block of 128 each addend, and the sum after each 32, loses less
/// than 2^-13 of the largest of them, and an addend at most itself.
template <class Product>
Sum sum_of(int64_t count, Product product) {
  Sum out;
  std::vector<double> addends(kBlock);
  for (int64_t k0 = 0; k0 < count; k0 += kBlock) {
    const int64_t here = std::min<int64_t>(kBlock, count - k0);
    double sum = 0, largest = 0;
    for (int64_t k = 0; k < here; ++k) {
      const double one = addends[size_t(k)] = product(k0 + k);
      sum += one;
      out.size += std::abs(one);
      largest = std::max(largest, std::max(std::abs(one), std::abs(sum)));
    }
    const double most = 0x1p-13 * largest;
    out.lost += double((here + 31) / 32) * most;
    for (int64_t k = 0; k < here; ++k) out.lost += std::min(std::abs(addends[size_t(k)]), most);
    out.value += sum;
  }
  return out;
}

class Layer {
 public:
  Layer(const std::shared_ptr<Device>& device, Stream& stream, std::mt19937_64& random,
        const Sizes& sizes)
      : n_(sizes), device_(device), stream_(stream), random_(random) {
    logits_ = memory(n_.tokens * n_.experts, 4), tokens_ = memory(n_.tokens * n_.width, 2);
    ids_ = memory(n_.pairs(), 4), weights_ = memory(n_.pairs(), 4);
    offsets_ = memory(n_.experts + 1, 4);
    order_ = memory(n_.pairs(), 4), inverse_ = memory(n_.pairs(), 4);
    inner_ = memory(n_.pairs() * n_.inner, 2), out_ = memory(n_.tokens * n_.width, 4);
    x_ = narrow(n_.tokens, n_.width), h_ = narrow(n_.pairs(), n_.inner);
    up_b_ = matrices(2 * n_.inner, n_.width), down_b_ = matrices(n_.width, n_.inner);
    make_route();
    make_products();
    uint64_t bytes = 0;
    for (const Plan* plan : {route_.get(), up_.get(), down_.get()})
      bytes = std::max(bytes, plan->info().workspace_bytes);
    workspace_ = memory(static_cast<int64_t>(bytes), 1);
    // Rows of pairs without an expert are quantized too. They are zeros here.
    put(*inner_, std::vector<uint16_t>(size_t(n_.pairs() * n_.inner)));
  }
  void draw() {
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> logits(size_t(n_.tokens * n_.experts));
    for (float& value : logits) value = normal(random_);
    put(*logits_, logits);
    std::vector<uint16_t> tokens(size_t(n_.tokens * n_.width));
    for (uint16_t& value : tokens) value = float_to_bf16(normal(random_));
    put(*tokens_, tokens);
  }
  /// Enqueues the layer; `one_by_one`: waits after each call.
  void run(bool one_by_one) const {
    RouteRun routing{.logits = logits_->address()};
    routing.ids = ids_->address(), routing.weights = weights_->address();
    routing.offsets = offsets_->address();
    routing.order = order_->address(), routing.inverse = inverse_->address();
    GroupedRun gated{.a = x_.values->address(), .b = up_b_.values->address()};
    gated.d = inner_->address(), gated.a_rows = order_->address();
    gated.a_scale = x_.scales->address(), gated.b_scale = up_b_.scales->address();
    GroupedRun added{.a = h_.values->address(), .b = down_b_.values->address()};
    added.d = out_->address(), added.d_rows = order_->address();
    added.a_scale = h_.scales->address(), added.b_scale = down_b_.scales->address();
    added.row_weights = weights_->address(), added.inverse = inverse_->address();
    gated.groups = added.groups = offsets_->address();
    routing.workspace = gated.workspace = added.workspace = workspace_->address();
    routing.workspace_bytes = gated.workspace_bytes = added.workspace_bytes = workspace_->bytes();
    const auto next = [&] {
      if (one_by_one) TW_REQUIRE_OK(stream_.synchronize());
    };
    TW_REQUIRE_OK(static_cast<RoutePlan&>(*route_).run(stream_, routing));
    next();
    quantize(x_, *tokens_);
    next();
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*up_).run(stream_, gated));
    next();
    quantize(h_, *inner_);
    next();
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*down_).run(stream_, added));
    next();
  }
  std::vector<uint32_t> result() const { return values_of<uint32_t>(*out_); }
  void clear() const { put(*out_, std::vector<float>(size_t(n_.tokens * n_.width), NAN)); }
  /// Compares each GEMM with float64 of its actual operands.
  void check() const {
    const auto order = values_of<int32_t>(*order_), offsets = values_of<int32_t>(*offsets_);
    const auto x = values_of<uint8_t>(*x_.values), h = values_of<uint8_t>(*h_.values);
    const auto x_scales = values_of<float>(*x_.scales), h_scales = values_of<float>(*h_.scales);
    const auto inner = values_of<uint16_t>(*inner_);
    const auto shares = values_of<float>(*weights_), out = values_of<float>(*out_);
    std::vector<double> sums(out.size(), 0), losses(out.size(), 0);
    for (int64_t e = 0; e < n_.experts; ++e)
      for (int64_t r = offsets[size_t(e)]; r < offsets[size_t(e + 1)]; ++r) {
        const int64_t pair = order[size_t(r)], token = pair / n_.top_k;
        for (int64_t i = 0; i < n_.inner; ++i) {
          const auto of_a = [&](int64_t k) { return x_.at(x, x_scales, token, k); };
          const Sum gate = sum_of(n_.width, [&](int64_t k) { return of_a(k) * up_b_.at(e, i, k); });
          const Sum linear =
              sum_of(n_.width, [&](int64_t k) { return of_a(k) * up_b_.at(e, n_.inner + i, k); });
          const double silu = gate.value / (1 + std::exp(-gate.value));
          const double want = silu * linear.value;
          // The slope of silu is at most 1.1.
          const double lost = 1.1 * gate.lost * (std::abs(linear.value) + linear.lost) +
                              std::abs(silu) * linear.lost;
          const double got = double{bf16_to_float(inner[size_t(r * n_.inner + i)])};
          REQUIRE(std::abs(got - want) <= 0x1p-8 * std::abs(want) + lost + 1e-5);
        }
        for (int64_t w = 0; w < n_.width; ++w) {
          const Sum row = sum_of(
              n_.inner, [&](int64_t i) { return h_.at(h, h_scales, r, i) * down_b_.at(e, w, i); });
          const double share = shares[size_t(pair)];
          sums[size_t(token * n_.width + w)] += share * row.value;
          losses[size_t(token * n_.width + w)] += share * (row.lost + 0x1p-20 * row.size);
        }
      }
    for (size_t i = 0; i < out.size(); ++i)
      REQUIRE(std::abs(double{out[i]} - sums[i]) <= losses[i] + 1e-6);
    REQUIRE(out_->guards_intact());
  }

 private:
  Memory memory(int64_t count, int64_t bytes) const {
    return std::make_unique<Guarded>(device_, stream_, static_cast<uint64_t>(count * bytes));
  }
  Narrow narrow(int64_t rows, int64_t columns) const {
    Narrow made{rows, columns, memory(rows * columns, 1), memory(rows * blocks(columns), 4), {}};
    QuantizeDesc desc;
    desc.scale = ScaleKind::row128, desc.scale_order = ScaleOrder::column;
    desc.rows = rows, desc.columns = columns;
    TW_REQUIRE_OK(QuantizePlan::create(device_, desc, &made.plan));
    return made;
  }
  Weights matrices(int64_t n, int64_t k) const {
    Weights made{
        n, k, memory(n_.experts * n * k, 1), memory(n_.experts * blocks(n) * blocks(k), 4), {}, {}};
    std::normal_distribution<float> normal(0, 8);
    for (int64_t i = 0; i < n_.experts * n * k; ++i)
      made.v.push_back(static_cast<uint8_t>(encode(kFormatE4M3, normal(random_))));
    for (int64_t i = 0; i < n_.experts * blocks(n) * blocks(k); ++i)
      made.s.push_back(static_cast<float>(pick(random_, 100, 200)) * 0x1p-14f);
    put(*made.values, made.v);
    put(*made.scales, made.s);
    return made;
  }
  void make_route() {
    RouteDesc desc;
    desc.tokens = n_.tokens, desc.experts = n_.experts, desc.top_k = n_.top_k;
    desc.flags = kRouteDescRenormalize;
    TW_REQUIRE_OK(RoutePlan::create(device_, desc, &route_));
  }
  GroupedDesc product(int64_t n, int64_t k) const {
    GroupedDesc desc;
    desc.a_dtype = DType::F8E4M3;
    desc.b_order = Order::column;
    desc.grouping = Grouping::offsets;
    desc.groups = n_.experts;
    desc.m = n_.pairs(), desc.n = n, desc.k = k;
    desc.a_scaling = {.kind = ScaleKind::row128, .order = Order::column};
    desc.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
    return desc;
  }
  void make_products() {
    GroupedDesc desc = product(2 * n_.inner, n_.width);
    desc.d_dtype = DType::BF16;
    desc.flags = kGroupedDescGather;
    desc.a_count = n_.tokens, desc.a_divisor = n_.top_k;
    desc.activation = Activation::silu;
    desc.gate = Gate::halves;
    TW_REQUIRE_OK(GroupedPlan::create(device_, desc, &up_));
    desc = product(n_.width, n_.inner);
    desc.d_dtype = DType::F32;
    desc.flags = kGroupedDescScatter | kGroupedDescRowWeightByIndex | kGroupedDescInverse;
    desc.combine = Combine::sum;
    desc.d_count = n_.tokens, desc.d_divisor = n_.top_k;
    TW_REQUIRE_OK(GroupedPlan::create(device_, desc, &down_));
  }
  void quantize(const Narrow& to, const Guarded& from) const {
    const QuantizeRun run{
        .src = from.address(), .dst = to.values->address(), .scale = to.scales->address()};
    TW_REQUIRE_OK(static_cast<QuantizePlan&>(*to.plan).run(stream_, run));
  }

  Sizes n_;
  std::shared_ptr<Device> device_;
  Stream& stream_;
  std::mt19937_64& random_;
  std::unique_ptr<Plan> route_, up_, down_;
  Memory logits_, tokens_, ids_, weights_, offsets_, order_, inverse_, inner_, out_, workspace_;
  Narrow x_{}, h_{};
  Weights up_b_{}, down_b_{};
};

}  // namespace

TEST_CASE("grouped scaled: a layer, call by call") {
  const auto device = open_test_device();
  if (!device) return;
  std::mt19937_64 random(2);
  const auto stream = new_stream(device);
  for (const Sizes& sizes : {Sizes{9, 4, 2, 144, 48}, Sizes{30, 8, 3, 48, 136}}) {
    Layer layer(device, *stream, random, sizes);
    layer.draw();
    layer.clear();
    layer.run(false);
    TW_REQUIRE_OK(stream->synchronize());
    layer.check();
  }
}

TEST_CASE("grouped scaled: a captured layer is what its calls are one by one") {
  const auto device = open_test_device();
  if (!device) return;
  std::mt19937_64 random(1);
  const auto stream = new_stream(device);
  constexpr Sizes kSizes[] = {{1, 8, 2, 144, 48}, {17, 4, 2, 136, 144}, {40, 8, 3, 48, 16}};
  for (const Sizes& sizes : kSizes) {
    Layer layer(device, *stream, random, sizes);
    std::unique_ptr<Graph> graph;
    TW_REQUIRE_OK(stream->begin_capture());
    layer.run(false);
    TW_REQUIRE_OK(stream->end_capture(&graph));
    TW_REQUIRE_OK(graph->instantiate());
    for (int i = 0; i < cases_here(100, 4); ++i) {
      CAPTURE(i);
      layer.draw();
      layer.clear();
      TW_REQUIRE_OK(graph->launch(*stream));
      const auto captured = layer.result();
      layer.check();
      layer.clear();
      layer.run(true);
      REQUIRE(layer.result() == captured);
    }
  }
}
