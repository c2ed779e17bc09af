// SPDX-License-Identifier: Apache-2.0
// The functions of the epilogue over every number of 16 bits: sums of nothing, to which a bias in
// f32 adds each bf16 number, by each full row. Whatever way a row goes its errors are no more than
// those that activation.h states, and then D's rounding.
#include <cmath>

#include "gemm_matrix.hpp"
#include "kernels/gemm/gemm_row.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kNumbers = 65536, kRows = 2, kDepth = 8;

float number(int64_t bits) {
  return bf16_to_float(static_cast<uint16_t>(bits));
}

struct Wanted {
  double value, error;
};

Wanted wanted(Activation which, double x) {
  constexpr double kLeast = 0x1p-109;
  if (which == Activation::gelu)
    return {0.5 * x * std::erfc(-x / std::sqrt(2.0)), 0x1p-21 * std::fabs(x) + kLeast};
  if (which == Activation::silu) {
    const double value = x / (1 + std::exp(-x));
    return {value, 0x1p-20 * (1 + std::fabs(x)) * std::fabs(value) + kLeast};
  }
  if (which == Activation::gelu_tanh) {
    const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    const double value = x / (1 + std::exp(-2 * u));
    return {value, 0x1p-20 * (1 + std::fabs(u)) * std::fabs(value) + kLeast};
  }
  return {which == Activation::relu ? std::fmax(x, 0) : x, 0};
}

// The nearest number of D's type.
double rounded(double value, DType type) {
  uint8_t raw[4] = {};
  encode_element(raw, type, static_cast<float>(value));
  return decode_element(raw, type);
}

bool is_right(Activation which, float x, double got, DType type) {
  if (std::isnan(x)) return std::isnan(got);
  if (std::isinf(x)) return got == (x > 0 || which == Activation::identity ? x : 0);
  const Wanted near = wanted(which, double{x});
  const double error = near.error * (1 + 0x1p-20) + std::fabs(near.value) * 0x1p-24;
  return got >= rounded(near.value - error, type) && got <= rounded(near.value + error, type);
}

// How many elements of D are wrong; negative where the row does not do this.
int64_t wrong_numbers(const std::shared_ptr<Device>& device, Stream& stream, const KernelRow& row,
                      Activation which) {
  const bool host = row.feature == feature::host;
  GemmDesc desc;
  desc.ab_dtype = host ? DType::BF16 : row.dtypes[0];
  desc.d_dtype = host ? DType::F32 : row.dtypes[1];
  desc.b_order = Order::column;
  desc.m = kRows, desc.n = kNumbers, desc.k = kDepth;
  desc.epilogue = {.bias = Per::column, .bias_dtype = DType::F32, .activation = which};
  const GemmChoice choice{&row, 1};
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(desc, &problem));
  if (!check_gemm_choice(*device, problem, choice).ok()) return -1;
  Matrix a(device, stream, kRows, kDepth, Order::row, desc.ab_dtype, kDepth, 0);
  Matrix b(device, stream, kDepth, kNumbers, Order::column, desc.ab_dtype, kDepth, 0);
  Matrix bias(device, stream, 1, kNumbers, Order::row, DType::F32, kNumbers, 0);
  Matrix d(device, stream, kRows, kNumbers, Order::row, desc.d_dtype, kNumbers, 0);
  for (int64_t k = 0; k < kDepth; ++k) {
    for (int64_t i = 0; i < kRows; ++i) encode_element(a.at(i, k), desc.ab_dtype, 0.0f);
    for (int64_t j = 0; j < kNumbers; ++j) encode_element(b.at(k, j), desc.ab_dtype, 1.0f);
  }
  for (int64_t j = 0; j < kNumbers; ++j) encode_element(bias.at(0, j), DType::F32, number(j));
  for (Matrix* matrix : {&a, &b, &bias}) matrix->memory.upload();
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create_forced(device, desc, choice, &plan));
  const GemmRun run{.a = a.memory.address(),
                    .b = b.memory.address(),
                    .d = d.memory.address(),
                    .bias = bias.memory.address()};
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
  TW_REQUIRE_OK(stream.synchronize());
  d.memory.read();
  int64_t wrong = 0;
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kNumbers; ++j)
      if (!is_right(which, number(j), d.value(i, j), desc.d_dtype) && wrong++ == 0) {
        INFO("first of " << number(j) << ": " << d.value(i, j) << ", wanted "
                         << wanted(which, double{number(j)}).value);
        CHECK(is_right(which, number(j), d.value(i, j), desc.d_dtype));
      }
  return wrong;
}

}  // namespace

TEST_CASE("gemm epilogue: each function of every 16-bit number, by each full row") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  int served = 0;
  for (const KernelRow& row : kernel_rows(Family::gemm)) {
    if ((row.variant & (kGemmFull | kGemmAlone)) != kGemmFull) continue;
    if (!(row.feature & device->info().features)) continue;
    for (const Activation which : {Activation::identity, Activation::relu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::silu}) {
      INFO(gemm_choice_text({&row, 1}) << ", function " << int(which));
      const int64_t wrong = wrong_numbers(device, *stream, row, which);
      CHECK(wrong <= 0);
      served += wrong == 0;
    }
  }
  MESSAGE(served << " rows and functions");
  CHECK(served >= 5);
}
