// SPDX-License-Identifier: Apache-2.0
// A layer in 8 bits: quantizes activations, multiplies and gates them into 8 bits with scales, and
// multiplies again. A captured run must give the bytes of the single calls, and the result must be
// as close to float64 of the wide operands as 8 bits allow.
#include <cmath>

#include "ops/quantize/quantize.hpp"
#include "tests/device/common/counts.hpp"
#include "tests/device/common/replay.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kTokens = 70, kIn = 400, kInner = 200, kOut = 136;

std::unique_ptr<Plan> quantizing(const std::shared_ptr<Device>& device, int64_t rows,
                                 int64_t columns, ScaleKind kind, ScaleOrder order) {
  QuantizeDesc desc;
  desc.scale = kind;
  desc.scale_order = order;
  desc.rows = rows;
  desc.columns = columns;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(QuantizePlan::create(device, desc, &plan));
  return plan;
}

GemmDesc product(int64_t n, int64_t k) {
  GemmDesc desc;
  desc.a_dtype = DType::F8E4M3;
  desc.d_dtype = DType::F32;
  desc.b_order = Order::column;
  desc.m = kTokens;
  desc.n = n;
  desc.k = k;
  desc.a_scaling = {.kind = ScaleKind::row128, .order = Order::column};
  desc.b_scaling = {.kind = ScaleKind::block128, .order = Order::column};
  return desc;
}

// Weights of n rows of k elements: wide, in 8 bits, and their scales [n / 128][k / 128].
struct Weights {
  Matrix wide, narrow, scales;

  Weights(const std::shared_ptr<Device>& device, Stream& stream, std::mt19937_64& random, int64_t n,
          int64_t k)
      : wide(device, stream, n, k, Order::row, DType::BF16, 0, 0),
        narrow(device, stream, n, k, Order::row, DType::F8E4M3, 0, 0),
        scales(device, stream, (n + 127) / 128, (k + 127) / 128, Order::row, DType::F32, 0, 0) {
    wide.fill_normal(random, 1.0f / std::sqrt(static_cast<float>(k)));
    const auto plan = quantizing(device, n, k, ScaleKind::block128, ScaleOrder::row);
    TW_REQUIRE_OK(
        static_cast<QuantizePlan&>(*plan).run(stream, {.src = wide.memory.address(),
                                                       .dst = narrow.memory.address(),
                                                       .scale = scales.memory.address()}));
    TW_REQUIRE_OK(stream.synchronize());
  }
};

// (silu(x gate) * (x linear)) down in float64, from the wide numbers.
std::vector<double> exact(Matrix& x, Weights& up, Weights& down) {
  std::vector<double> out;
  std::vector<double> inner(kInner);
  const auto dot = [](Matrix& row, int64_t i, Matrix& column, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < row.columns; ++k) sum += row.value(i, k) * column.value(j, k);
    return sum;
  };
  for (int64_t i = 0; i < kTokens; ++i) {
    for (int64_t j = 0; j < kInner; ++j) {
      const double gate = dot(x, i, up.wide, j);
      inner[static_cast<size_t>(j)] = gate / (1 + std::exp(-gate)) * dot(x, i, up.wide, j + kInner);
    }
    for (int64_t j = 0; j < kOut; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kInner; ++k)
        sum += inner[static_cast<size_t>(k)] * down.wide.value(j, k);
      out.push_back(sum);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("gemm scaled: a captured layer of 8-bit products equals its calls one by one") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(21);
  Weights up(device, *stream, random, 2 * kInner, kIn), down(device, *stream, random, kOut, kInner);
  Matrix x(device, *stream, kTokens, kIn, Order::row, DType::BF16, 0, 0);
  Matrix narrow(device, *stream, kTokens, kIn, Order::row, DType::F8E4M3, 0, 0);
  Matrix scales(device, *stream, kTokens, 4, Order::column, DType::F32, 0, 0);
  Matrix inner(device, *stream, kTokens, kInner, Order::row, DType::F8E4M3, 0, 0);
  Matrix inner_scales(device, *stream, kTokens, 2, Order::column, DType::F32, 0, 0);
  Matrix y(device, *stream, kTokens, kOut, Order::row, DType::F32, 0, 0);

  const auto quantize = quantizing(device, kTokens, kIn, ScaleKind::row128, ScaleOrder::column);
  GemmDesc desc = product(2 * kInner, kIn);
  desc.d_dtype = DType::F8E4M3;
  desc.epilogue.activation = Activation::silu;
  desc.epilogue.gate = Gate::halves;
  desc.d_quantize = {.kind = ScaleKind::row128, .order = Order::column};
  std::unique_ptr<Plan> first, second;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &first));
  TW_REQUIRE_OK(GemmPlan::create(device, product(kOut, kInner), &second));
  Guarded workspaces[2] = {{device, *stream, first->info().workspace_bytes},
                           {device, *stream, second->info().workspace_bytes}};

  const std::function<void(Stream&)> steps[] = {
      [&](Stream& on) {
        TW_REQUIRE_OK(
            static_cast<QuantizePlan&>(*quantize).run(on, {.src = x.memory.address(),
                                                           .dst = narrow.memory.address(),
                                                           .scale = scales.memory.address()}));
      },
      [&](Stream& on) {
        TW_REQUIRE_OK(static_cast<GemmPlan&>(*first).run(
            on, {.a = narrow.memory.address(),
                 .b = up.narrow.memory.address(),
                 .d = inner.memory.address(),
                 .workspace = workspaces[0].bytes() ? workspaces[0].address() : 0,
                 .workspace_bytes = workspaces[0].bytes(),
                 .a_scale = scales.memory.address(),
                 .b_scale = up.scales.memory.address(),
                 .d_block_scale = inner_scales.memory.address()}));
      },
      [&](Stream& on) {
        TW_REQUIRE_OK(static_cast<GemmPlan&>(*second).run(
            on, {.a = inner.memory.address(),
                 .b = down.narrow.memory.address(),
                 .d = y.memory.address(),
                 .workspace = workspaces[1].bytes() ? workspaces[1].address() : 0,
                 .workspace_bytes = workspaces[1].bytes(),
                 .a_scale = inner_scales.memory.address(),
                 .b_scale = down.scales.memory.address()}));
      }};
  Replay replay(device, [&](Stream& on) {
    for (const auto& step : steps) step(on);
  });
  for (int round = 0; round < cases_here(100, 3); ++round) {
    INFO("round " << round);
    x.fill_normal(random, round % 3 == 1 ? 100.0f : 1.0f);
    const auto bytes_of = [](Matrix& of) {
      of.memory.read();
      CHECK(of.memory.guards_intact());
      return std::vector<uint8_t>(of.memory.data(), of.memory.data() + of.memory.bytes());
    };
    for (const auto& step : steps) {
      step(*stream);
      TW_REQUIRE_OK(stream->synchronize());
    }
    const auto inner_one = bytes_of(inner), scales_one = bytes_of(inner_scales);
    const auto y_one = bytes_of(y);
    for (Matrix* of : {&narrow, &scales, &inner, &inner_scales, &y}) {
      std::fill_n(of->memory.data(), of->memory.bytes(), Guarded::kPoison);
      of->memory.upload();
    }
    replay();
    CHECK(bytes_of(inner) == inner_one);
    CHECK(bytes_of(inner_scales) == scales_one);
    CHECK(bytes_of(y) == y_one);
    const std::vector<double> wanted = exact(x, up, down);
    double xy = 0, squares = 0;
    for (int64_t i = 0; i < kTokens; ++i)
      for (int64_t j = 0; j < kOut; ++j) {
        const double got = y.value(i, j), want = wanted[static_cast<size_t>(i * kOut + j)];
        xy += got * want;
        squares += got * got + want * want;
      }
    INFO("distance " << 1 - 2 * xy / squares);
    CHECK(1 - 2 * xy / squares < 3e-3);  // three successive roundings to 8 bits
  }
}
