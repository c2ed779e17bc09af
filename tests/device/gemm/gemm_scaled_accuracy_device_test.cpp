// SPDX-License-Identifier: Apache-2.0
// How far products of quantized operands are from the products of the wide operands, by DeepGEMM's
// measure: as little as exact arithmetic on the quantized numbers allows.
#include "tests/device/gemm/gemm_scaled_plans.hpp"
#include "tests/device/gemm/quantized_numbers.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Size {
  int64_t m, n, k;
};

struct Bench {
  Quantized a, b;
  TwoProducts exact;

  Bench(std::mt19937_64& random, const Size& size, DType of_a, DType of_b, int64_t lines_per_scale)
      : a(draw_quantized(random, of_a, size.m, size.k, 1)),
        b(draw_quantized(random, of_b, size.n, size.k, lines_per_scale)) {
    for (int64_t i = 0; i < size.m; ++i)
      for (int64_t j = 0; j < size.n; ++j) exact.add(a, i, b, j);
  }
};

class Lab {
 public:
  Lab() : device_(open_test_device()) {
    if (device_) stream_ = new_stream(device_);
  }
  explicit operator bool() const { return device_ != nullptr; }

  // Calls use(distance) for the library's choice and for each candidate.
  template <class Use>
  void each(Bench& operands, DType of_a, DType of_b, DType out, bool quantizes, Use use) {
    GemmDesc desc;
    desc.a_dtype = of_a, desc.b_dtype = of_b, desc.d_dtype = out;
    desc.b_order = Order::column;
    desc.m = operands.a.lines, desc.n = operands.b.lines, desc.k = operands.a.k;
    desc.a_alignment = desc.b_alignment = 16;
    desc.a_scaling = {.kind = ScaleKind::row128};
    // B's scales are a matrix of blocks of k and of columns; a column has its blocks side by side.
    desc.b_scaling = {
        .kind = operands.b.lines_per_scale == 1 ? ScaleKind::row128 : ScaleKind::block128,
        .order = Order::column};
    if (quantizes) desc.d_quantize.kind = ScaleKind::row128;
    Matrix a(device_, *stream_, desc.m, desc.k, Order::row, of_a, 0, 0);
    Matrix b(device_, *stream_, desc.n, desc.k, Order::row, of_b, 0, 0);
    Matrix a_scale(device_, *stream_, desc.m, operands.a.blocks(), Order::row, DType::F32, 0, 0);
    Matrix b_scale(device_, *stream_, operands.b.scale_lines(), operands.b.blocks(), Order::row,
                   DType::F32, 0, 0);
    Matrix d(device_, *stream_, desc.m, desc.n, Order::row, out, 0, 0);
    Matrix d_scale(device_, *stream_, desc.m, (desc.n + 127) / 128, Order::row, DType::F32, 0, 0);
    const auto put = [](Matrix& to, const std::vector<float>& from) {
      size_t i = 0;
      to.fill_with([&] { return from[i++]; });
    };
    put(a, operands.a.narrow), put(b, operands.b.narrow);
    put(a_scale, operands.a.scales), put(b_scale, operands.b.scales);
    const auto run = [&](ScaledPlan& plan) {
      std::fill_n(d.memory.data(), d.memory.bytes(), Guarded::kPoison);
      d.memory.upload();
      plan.run({.a = a.memory.address(),
                .b = b.memory.address(),
                .d = d.memory.address(),
                .a_scale = a_scale.memory.address(),
                .b_scale = b_scale.memory.address(),
                .d_block_scale = quantizes ? d_scale.memory.address() : 0});
      d.memory.read();
      d_scale.memory.read();
      std::vector<double> got;
      for (int64_t i = 0; i < desc.m; ++i)
        for (int64_t j = 0; j < desc.n; ++j)
          got.push_back(d.value(i, j) * (quantizes ? d_scale.value(i, j / 128) : 1));
      use(distance(got, operands.exact.wide));
    };
    ScaledPlan own = own_plan(device_, *stream_, desc);
    if (is_chosen_kernel(own.plan().info().kernel)) run(own);
    each_candidate(device_, *stream_, desc, 1000, 0, run);
  }

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

std::vector<Size> sizes() {
  if (on_gpu()) return {{64, 512, 1024}, {128, 384, 7168}, {33, 576, 4096}};
  return {{24, 144, 512}};
}

}  // namespace

TEST_CASE("gemm scaled accuracy: e4m3 with scales of 128 is within 0.001 of the wide operands") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(1);
  for (const Size& size : sizes())
    for (const int64_t lines_per_scale : {128, 1}) {
      Bench operands(random, size, DType::F8E4M3, DType::F8E4M3, lines_per_scale);
      for (const DType out : {DType::BF16, DType::F32})
        lab.each(operands, DType::F8E4M3, DType::F8E4M3, out, false,
                 [&](double distance) { CHECK(distance < 1e-3); });
    }
}

TEST_CASE("gemm scaled accuracy: mixes with e5m2, and D of 8 bits, err as exact arithmetic does") {
  Lab lab;
  if (!lab) return;
  std::mt19937_64 random(2);
  for (const auto& types : {std::pair{DType::F8E4M3, DType::F8E4M3},
                            {DType::F8E4M3, DType::F8E5M2},
                            {DType::F8E5M2, DType::F8E4M3}})
    for (const Size& size : sizes()) {
      const DType of_a = types.first, of_b = types.second;
      Bench operands(random, size, of_a, of_b, 128);
      const auto check = [&](DType out, bool quantizes, const std::vector<double>& exact) {
        const double most = 1.05 * distance(exact, operands.exact.wide);
        INFO(dtype_name(of_a) << " by " << dtype_name(of_b) << " to " << dtype_name(out));
        lab.each(operands, of_a, of_b, out, quantizes, [&](double distance) {
          CAPTURE(most);
          CHECK(distance <= most);
        });
      };
      for (const DType out : {DType::BF16, DType::F32}) check(out, false, operands.exact.narrow);
      for (const DType out : {DType::F8E4M3, DType::F8E5M2})
        for (const bool quantizes : {false, true})
          check(out, quantizes, rounded_rows(operands.exact.narrow, size.n, out, quantizes));
    }
}
