// SPDX-License-Identifier: Apache-2.0
// Each activation of every number x of A's type, with each epilogue kernel. x is a column's bias,
// in f32. Lines of D add 0, x or -x to it, computed as alpha times a product. The error must be
// within the API's bounds plus the rounding to D.
#include <array>
#include <limits>
#include <map>

#include "kernels/gemm/gemm_entry.hpp"
#include "tests/device/common/activations.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kNumbers = 65536, kDepth = 8;
constexpr float kAlpha = 2.0f;
constexpr std::array<float, 3> kTimes = {0.0f, 1.0f, -1.0f};  // factor of the added x, by line

float number(DType type, int64_t bits) {
  const auto half = static_cast<uint16_t>(bits);
  return type == DType::BF16 ? bf16_to_float(half) : f16_to_float(half);
}

// Rounds to the nearest number of a type.
float rounded(double value, DType type) {
  uint8_t raw[4] = {};
  encode_element(raw, type, static_cast<float>(value));
  return decode_element(raw, type);
}

struct Bounds {
  float least, most;  // NaN: the result must be NaN
};

Bounds bounds(Activation which, float x, float times, DType type) {
  if (std::isnan(x)) return {x, x};
  const float v = std::isinf(x) ? x : x + times * x;
  if (std::isinf(v)) {
    const float wanted = v > 0 || which == Activation::identity ? v : 0.0f;
    return {wanted, wanted};
  }
  const double argument =
      which == Activation::gelu_tanh && times != 0 ? 0x1p-23 * 2 * std::fabs(double{x}) : 0;
  const double near = exact_activation(which, double{v});
  if (which == Activation::identity || which == Activation::relu)
    return {rounded(near, type), rounded(near, type)};
  // No function's slope exceeds 1.13. The last two terms are the rounding to f32 before that to D.
  const double error = activation_error(which, double{v}) + 1.13 * argument +
                       (std::fabs(near) + argument) * 0x1p-23 +
                       double{std::numeric_limits<float>::denorm_min()};
  return {rounded(near - error, type), rounded(near + error, type)};
}

const std::vector<Bounds>& bounds_of(Activation which, DType in, float times, DType out) {
  static std::map<std::array<int, 4>, std::vector<Bounds>> known;
  std::vector<Bounds>& all = known[{int(which), int(in), int(times), int(out)}];
  if (all.empty())
    for (int64_t j = 0; j < kNumbers; ++j) all.push_back(bounds(which, number(in, j), times, out));
  return all;
}

// Finds a description, among all orders of A and B, that the kernel supports.
bool describe(const Device& device, const KernelEntry& entry, Activation which, GemmDesc* desc) {
  const bool host = entry.feature == feature::host;
  for (const Order a_order : {Order::row, Order::column})
    for (const Order b_order : {Order::column, Order::row}) {
      *desc = {};
      desc->a_dtype = host ? DType::BF16 : entry.dtypes[0];
      desc->d_dtype = host ? DType::F32 : entry.dtypes[1];
      desc->a_order = a_order;
      desc->b_order = b_order;
      // Two tiles of the tallest kernels, the second one partial.
      desc->m = host ? 6 : 136;
      desc->n = kNumbers;
      desc->k = kDepth;
      desc->epilogue = {.bias = Per::column, .bias_dtype = DType::F32, .activation = which};
      GemmProblem problem;
      TW_REQUIRE_OK(gemm_problem(*desc, &problem));
      if (check_gemm_choice(device, problem, {&entry, 1}).ok()) return true;
    }
  return false;
}

int64_t wrong_numbers(const std::shared_ptr<Device>& device, Stream& stream, const GemmDesc& desc,
                      const GemmChoice& choice) {
  const DType in = desc.a_dtype, out = desc.d_dtype;
  Matrix a(device, stream, desc.m, kDepth, desc.a_order, in, 0, 0);
  Matrix b(device, stream, kDepth, kNumbers, desc.b_order, in, 0, 0);
  Matrix bias(device, stream, 1, kNumbers, Order::row, DType::F32, 0, 0);
  Matrix d(device, stream, desc.m, kNumbers, Order::row, out, 0, 0);
  const auto times = [](int64_t line) { return kTimes[static_cast<size_t>(line) % 3]; };
  for (int64_t k = 0; k < kDepth; ++k) {
    for (int64_t i = 0; i < desc.m; ++i)
      encode_element(a.at(i, k), in, k == 0 ? times(i) / kAlpha : 0.0f);
    for (int64_t j = 0; j < kNumbers; ++j) {
      const float x = number(in, j);
      encode_element(b.at(k, j), in, k == 0 && std::isfinite(x) ? x : 0.0f);
    }
  }
  for (int64_t j = 0; j < kNumbers; ++j) encode_element(bias.at(0, j), DType::F32, number(in, j));
  for (Matrix* matrix : {&a, &b, &bias}) matrix->memory.upload();
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create_forced(device, desc, choice, &plan));
  const GemmRun run{.alpha = kAlpha,
                    .a = a.memory.address(),
                    .b = b.memory.address(),
                    .d = d.memory.address(),
                    .bias = bias.memory.address()};
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
  TW_REQUIRE_OK(stream.synchronize());
  d.memory.read();
  CHECK(d.memory.guards_intact());
  int64_t wrong = 0;
  for (const int64_t line : {0, 1, 2, 8, 9, 10, 63, 64, 70, 77, 127, 128, 135}) {
    if (line >= desc.m) break;
    const std::vector<Bounds>& wanted = bounds_of(desc.epilogue.activation, in, times(line), out);
    for (int64_t j = 0; j < kNumbers; ++j) {
      const Bounds& near = wanted[static_cast<size_t>(j)];
      const float got = static_cast<float>(d.value(line, j));
      if (std::isnan(near.least) ? std::isnan(got) : got >= near.least && got <= near.most)
        continue;
      if (wrong++ == 0)
        MESSAGE("first of " << number(in, j) << " in line " << line << ": " << got << ", wanted "
                            << near.least << " to " << near.most);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("gemm epilogue: each activation of every 16-bit number, with each kernel") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  int entries = 0;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if ((entry.variant & (kGemmEpilogue | kGemmBatched | kGemmNarrow)) != kGemmEpilogue) continue;
    if (!(entry.feature & device->info().kernel_features)) continue;
    ++entries;
    for (const Activation which : {Activation::identity, Activation::relu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::silu}) {
      INFO(gemm_choice_text({&entry, 1}) << ", function " << int(which));
      GemmDesc desc;
      const bool served = describe(*device, entry, which, &desc);
      CHECK(served);
      if (served) CHECK(wrong_numbers(device, *stream, desc, {&entry, 1}) == 0);
    }
  }
  MESSAGE(entries << " kernels");
  CHECK(entries > 0);
}
