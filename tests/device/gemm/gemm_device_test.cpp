// SPDX-License-Identifier: Apache-2.0
// Compares D = alpha A B + beta C with float64 loops: all orders and types, odd sizes, guard bytes.
#include <algorithm>
#include <cmath>

#include "runtime/host/host_device.hpp"
#include "tensor_map/descriptor.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Case {
  GemmDesc desc;
  float alpha = 1.0f, beta = 0.0f;
  uint64_t a_offset = 0, b_offset = 0, d_offset = 0;
  bool integers = false;
  int64_t run_m = -1;
};

std::string describe(const Case& c) {
  const GemmDesc& d = c.desc;
  char text[256];
  std::snprintf(text, sizeof text,
                "m %d n %d k %d, %s to %s, orders %d%d%d, ld %d %d %d, offsets %d %d %d, alpha %g "
                "beta %g, run m %d",
                int(d.m), int(d.n), int(d.k), dtype_name(d.a_dtype), dtype_name(d.d_dtype),
                int(d.a_order), int(d.b_order), int(d.d_order), int(d.lda), int(d.ldb), int(d.ldd),
                int(c.a_offset), int(c.b_offset), int(c.d_offset), double(c.alpha), double(c.beta),
                int(c.run_m));
  return text;
}

// Compares every element within half an ulp plus the error of f32 sums in any order.
void check_case(const std::shared_ptr<Device>& device, Stream& stream, std::mt19937_64& random,
                Case c) {
  INFO(describe(c));
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(c.desc, &problem));  // for the packed leading dimensions
  const GemmDesc& d = c.desc;
  const int64_t m = c.run_m < 0 ? d.m : c.run_m;
  Matrix a(device, stream, d.m, d.k, d.a_order, d.a_dtype, d.lda, c.a_offset);
  Matrix b(device, stream, d.k, d.n, d.b_order, d.a_dtype, d.ldb, c.b_offset);
  Matrix cc(device, stream, d.m, d.n, d.d_order, d.d_dtype, d.ldc, 0);
  Matrix out(device, stream, d.m, d.n, d.d_order, d.d_dtype, d.ldd, c.d_offset);
  for (Matrix* each : {&a, &b, &cc})
    if (c.integers)
      each->fill_integers(random);
    else
      each->fill_normal(random);

  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, d, &plan));
  const uint64_t workspace_bytes = plan->info().workspace_bytes;
  Guarded workspace(device, stream, std::max<uint64_t>(workspace_bytes, 16), 0);
  const GemmRun run{.alpha = c.alpha,
                    .beta = c.beta,
                    .a = a.memory.address(),
                    .b = b.memory.address(),
                    .c = cc.memory.address(),
                    .d = out.memory.address(),
                    .m = c.run_m,
                    .workspace = workspace.address(),
                    .workspace_bytes = workspace_bytes};
  // Large enough to serve as A or B.
  Guarded others(device, stream, std::max(a.bytes(), b.bytes()), std::max(c.a_offset, c.b_offset));
  if (workspace_bytes > 0) {
    // Runs with other operands are still pending when the run under test begins its staging copies.
    GemmRun other = run;
    other.a = other.b = others.address();
    for (int i = 0; i < 3; ++i) TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, other));
  }
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
  TW_REQUIRE_OK(stream.synchronize());
  workspace.read();
  CHECK(workspace.guards_intact());
  out.memory.read();
  CHECK(out.memory.guards_intact());
  CHECK(out.padding_intact());

  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < d.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < d.k; ++k) {
        const double product = a.value(i, k) * b.value(k, j);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double addend = c.beta == 0.0f ? 0.0 : double(c.beta) * cc.value(i, j);
      const double wanted = c.alpha == 0.0f ? addend : double(c.alpha) * sum + addend;
      const double bound = std::fabs(wanted) * half_unit(d.d_dtype) * 1.001 +
                           0x1p-20 * (std::fabs(double(c.alpha)) * magnitude + std::fabs(addend)) +
                           least_half_unit(d.d_dtype);
      const double got = out.value(i, j);
      const bool fine =
          c.integers && d.d_dtype == DType::F32 ? got == wanted : std::fabs(got - wanted) <= bound;
      if (!fine && wrong++ == 0) {
        INFO("first wrong element " << i << ", " << j << ": " << got << ", wanted " << wanted);
        CHECK(fine);
      }
    }
  CHECK(wrong == 0);
  // Rows past the run's m are unchanged.
  CHECK(out.changed_from(m) == 0);
}

}  // namespace

TEST_CASE("gemm: every type and order at sizes around the tiles") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(1);
  const int64_t sizes[][3] = {
      {128, 256, 64}, {64, 64, 64}, {129, 264, 72}, {136, 136, 200}, {8, 8, 8}};
  for (const auto& [in, out] : kGemmTypes)
    for (int orders = 0; orders < 8; ++orders)
      for (const auto& size : sizes) {
        Case c;
        c.desc.a_dtype = in;
        c.desc.d_dtype = out;
        c.desc.a_order = static_cast<Order>(orders & 1);
        c.desc.b_order = static_cast<Order>(orders >> 1 & 1);
        c.desc.d_order = static_cast<Order>(orders >> 2 & 1);
        c.desc.m = size[0];
        c.desc.n = size[1];
        c.desc.k = size[2];
        c.integers = (orders & 1) != 0;
        c.beta = orders == 3 ? -0.5f : 0.0f;
        // Pitches that tensor maps can have, whatever the extents.
        c.desc.lda = (std::max(size[0], size[2]) + 7) / 8 * 8;
        c.desc.ldb = (std::max(size[1], size[2]) + 7) / 8 * 8 + 8;
        check_case(device, *stream, random, c);
      }
}

TEST_CASE("gemm: random sizes, pitches, offsets and scalars") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(2);
  for (int i = 0; i < 80; ++i) {
    Case c;
    const auto& types = kGemmTypes[pick(random, 0, 3)];
    c.desc.a_dtype = types.first;
    c.desc.d_dtype = types.second;
    c.desc.a_order = static_cast<Order>(pick(random, 0, 1));
    c.desc.b_order = static_cast<Order>(pick(random, 0, 1));
    c.desc.d_order = static_cast<Order>(pick(random, 0, 1));
    c.desc.m = pick(random, 1, 300);
    c.desc.n = pick(random, 1, 300);
    c.desc.k = pick(random, 0, 200);
    const int64_t step = pick(random, 0, 2) ? 8 : 1;  // pitches for tensor maps, or odd ones
    auto pitch = [&](int64_t least) { return (least + pick(random, 0, 9) + step) / step * step; };
    c.desc.lda = pitch(c.desc.a_order == Order::row ? c.desc.k : c.desc.m);
    c.desc.ldb = pitch(c.desc.b_order == Order::row ? c.desc.n : c.desc.k);
    c.desc.ldd = pitch(c.desc.d_order == Order::row ? c.desc.n : c.desc.m);
    c.a_offset = pick(random, 0, 3) ? 0 : 2;
    c.b_offset = pick(random, 0, 3) ? 0 : 6;
    c.d_offset = pick(random, 0, 3) ? 0 : 4;
    c.alpha = pick(random, 0, 4) ? 1.0f : pick(random, 0, 1) ? 0.0f : -1.5f;
    c.beta = pick(random, 0, 1) ? 0.0f : 0.75f;
    if (pick(random, 0, 3) == 0) c.run_m = pick(random, 0, c.desc.m);
    check_case(device, *stream, random, c);
  }
}

TEST_CASE("gemm: operands that are copied first, run behind run") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(3);
  for (int i = 0; i < 24; ++i) {
    Case c;
    c.desc.a_dtype = DType::BF16;
    c.desc.d_dtype = i % 2 ? DType::F32 : DType::BF16;
    c.desc.a_order = static_cast<Order>(i >> 1 & 1);
    c.desc.b_order = static_cast<Order>(i >> 2 & 1);
    c.desc.m = c.desc.n = c.desc.min_m = pick(random, 100, 200) * 2 + 1;
    c.desc.k = c.desc.m;
    c.desc.staging_copy = true;
    c.a_offset = c.b_offset = 2;
    c.integers = i % 3 == 0;
    check_case(device, *stream, random, c);
  }
}

TEST_CASE("gemm: many tiles in one persistent grid") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(3);
  Case c;
  c.desc.m = 1100;
  c.desc.n = 1000;
  c.desc.k = 136;
  c.desc.b_order = Order::column;
  c.integers = true;
  c.desc.d_dtype = DType::F32;
  check_case(device, *stream, random, c);
  c.desc.max_sms = 4;  // four blocks with many tiles each
  check_case(device, *stream, random, c);
}

TEST_CASE("gemm: NaN and infinity pass wherever they stand along a long k") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(10);
  constexpr int64_t kDepth = 20000, kRows = 24, kColumns = 40;
  for (const auto& types : kGemmTypes) {
    GemmDesc desc;
    desc.a_dtype = types.first;
    desc.d_dtype = types.second;
    desc.m = kRows;
    desc.n = kColumns;
    desc.k = kDepth;
    Matrix a(device, *stream, kRows, kDepth, Order::row, desc.a_dtype, kDepth, 0);
    Matrix b(device, *stream, kDepth, kColumns, Order::row, desc.a_dtype, kColumns, 0);
    Matrix d(device, *stream, kRows, kColumns, Order::row, desc.d_dtype, kColumns, 0);
    a.fill_with([&] { return static_cast<float>(pick(random, -1, 1)); });
    b.fill_with([] { return 1.0f; });
    const auto plant = [&](int64_t row, int64_t k, float value) {
      encode_element(a.at(row, k), desc.a_dtype, value);
    };
    // Rows 0 to 7 have one special each, each in a different eighth of k.
    for (int64_t i = 0; i < 8; ++i) plant(i, i * kDepth / 8 + 7, i % 3 == 0 ? NAN : INFINITY);
    plant(8, 3, -INFINITY);
    plant(9, 5, INFINITY);
    plant(9, kDepth - 5, -INFINITY);  // row 9: both signs, so the sum is NaN
    plant(10, kDepth - 1, -INFINITY);
    a.memory.upload();
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
    const GemmRun run{.a = a.memory.address(), .b = b.memory.address(), .d = d.memory.address()};
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, run));
    d.memory.read();
    INFO(plan->explain());
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kColumns; ++j) {
        const double got = d.value(i, j);
        INFO("row " << i << ", column " << j << ": " << got);
        if (i == 9 || (i < 8 && i % 3 == 0))
          CHECK(std::isnan(got));
        else if (i <= 10)
          CHECK((std::isinf(got) && (got > 0) == (i < 8)));
        else
          CHECK(std::isfinite(got));
      }
  }
}

TEST_CASE("gemm: NaN and infinity pass, C is not read with beta 0, nor A and B with alpha 0") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(4);
  GemmDesc desc;
  desc.m = 64;
  desc.n = 64;
  desc.k = 64;
  desc.d_dtype = DType::F32;
  Matrix a(device, *stream, 64, 64, Order::row, DType::BF16, 64, 0);
  Matrix b(device, *stream, 64, 64, Order::row, DType::BF16, 64, 0);
  Matrix c(device, *stream, 64, 64, Order::row, DType::F32, 64, 0);
  Matrix d(device, *stream, 64, 64, Order::row, DType::F32, 64, 0);
  a.fill_integers(random);
  b.fill_integers(random);
  c.fill_integers(random);
  encode_element(a.at(3, 5), DType::BF16, NAN);
  encode_element(a.at(7, 5), DType::BF16, INFINITY);
  encode_element(b.at(5, 0), DType::BF16, 1.0f);
  for (int64_t j = 0; j < 64; ++j) encode_element(c.at(9, j), DType::F32, NAN);
  a.memory.upload();
  b.memory.upload();
  c.memory.upload();
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
  auto& gemm = static_cast<GemmPlan&>(*plan);
  GemmRun run{.a = a.memory.address(), .b = b.memory.address(), .c = 0, .d = d.memory.address()};
  TW_REQUIRE_OK(gemm.run(*stream, run));  // c is 0: reading it would fault
  TW_REQUIRE_OK(stream->synchronize());
  d.memory.read();
  CHECK(std::isnan(d.value(3, 0)));
  CHECK(std::isinf(d.value(7, 0)));
  CHECK_FALSE(std::isnan(d.value(9, 0)));

  run = {.alpha = 0.0f,
         .beta = 2.0f,
         .a = 0,
         .b = 0,
         .c = c.memory.address(),
         .d = d.memory.address()};
  TW_REQUIRE_OK(gemm.run(*stream, run));
  TW_REQUIRE_OK(stream->synchronize());
  d.memory.read();
  CHECK(d.value(3, 0) == 2.0 * c.value(3, 0));
  CHECK(std::isnan(d.value(9, 1)));
}

// Checks D = A B + beta D in place, with small integers.
static void check_in_place(const std::shared_ptr<Device>& device, Stream& stream,
                           std::mt19937_64& random, const GemmDesc& desc) {
  Matrix a(device, stream, desc.m, desc.k, desc.a_order, desc.a_dtype, desc.lda, 0);
  Matrix b(device, stream, desc.k, desc.n, desc.b_order, desc.a_dtype, desc.ldb, 0);
  Matrix d(device, stream, desc.m, desc.n, desc.d_order, desc.d_dtype, desc.ldd, 0);
  a.fill_integers(random);
  b.fill_integers(random);
  d.fill_integers(random);
  std::vector<uint8_t> want(d.memory.data(), d.memory.data() + d.memory.bytes());
  for (int64_t i = 0; i < desc.m; ++i)
    for (int64_t j = 0; j < desc.n; ++j) {
      double sum = d.value(i, j);
      for (int64_t k = 0; k < desc.k; ++k) sum += a.value(i, k) * b.value(k, j);
      encode_element(&want[static_cast<size_t>(d.at(i, j) - d.memory.data())], desc.d_dtype,
                     static_cast<float>(sum));
    }
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
  const GemmRun run{.beta = 1.0f,
                    .a = a.memory.address(),
                    .b = b.memory.address(),
                    .c = d.memory.address(),
                    .d = d.memory.address()};
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
  TW_REQUIRE_OK(stream.synchronize());
  d.memory.read();
  CHECK(d.memory.guards_intact());
  CHECK(std::memcmp(want.data(), d.memory.data(), want.size()) == 0);
}

TEST_CASE("gemm: C may be D itself") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(5);
  for (const auto& types : kGemmTypes)
    for (const Order order : {Order::row, Order::column})
      for (const int64_t more : {0, 1, 8}) {
        GemmDesc desc;
        desc.a_dtype = types.first;
        desc.d_dtype = types.second;
        desc.d_order = order;
        desc.m = 200;
        desc.n = 72;
        desc.k = 64;
        desc.lda = 64;
        desc.ldb = 72;
        desc.ldc = desc.ldd = (order == Order::row ? desc.n : desc.m) + more;
        INFO(dtype_name(types.first) << " to " << dtype_name(types.second) << ", order "
                                     << int(order) << ", ldd " << desc.ldd);
        check_in_place(device, *stream, random, desc);
      }
}

TEST_CASE("gemm: equal runs give equal bits") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(6);
  GemmDesc desc;
  desc.m = 300;
  desc.n = 520;
  desc.k = 256;
  Matrix a(device, *stream, desc.m, desc.k, Order::row, DType::BF16, desc.k, 0);
  Matrix b(device, *stream, desc.k, desc.n, Order::row, DType::BF16, desc.n, 0);
  Matrix d(device, *stream, desc.m, desc.n, Order::row, DType::BF16, desc.n, 0);
  a.fill_normal(random);
  b.fill_normal(random);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
  const GemmRun run{.a = a.memory.address(), .b = b.memory.address(), .d = d.memory.address()};
  std::vector<uint8_t> first;
  const int runs = device->info().kind == DeviceKind::host ? 3 : 200;
  for (int i = 0; i < runs; ++i) {
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, run));
    d.memory.read();
    const std::vector<uint8_t> now(d.memory.data(), d.memory.data() + d.memory.bytes());
    if (i == 0) first = now;
    REQUIRE(now == first);
  }
}

TEST_CASE("gemm: the host device moves the boxes that the plan explains") {
  const auto device = open_test_device();
  if (!device) return;
  if (device->info().kind != DeviceKind::host) return skip("only the host device has counters");
  const auto stream = new_stream(device);
  std::mt19937_64 random(7);
  for (int orders = 0; orders < 4; ++orders) {
    GemmDesc desc;
    desc.a_order = static_cast<Order>(orders & 1);
    desc.b_order = static_cast<Order>(orders >> 1);
    desc.m = 264;
    desc.n = 200;
    desc.k = 136;
    Matrix a(device, *stream, desc.m, desc.k, desc.a_order, DType::BF16,
             desc.a_order == Order::row ? desc.k : desc.m, 0);
    Matrix b(device, *stream, desc.k, desc.n, desc.b_order, DType::BF16,
             desc.b_order == Order::row ? desc.n : desc.k, 0);
    Matrix d(device, *stream, desc.m, desc.n, Order::row, DType::BF16, desc.n, 0);
    a.fill_integers(random);
    b.fill_integers(random);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
    const BoxCounters before = host_counters(*device);
    const GemmRun run{.a = a.memory.address(), .b = b.memory.address(), .d = d.memory.address()};
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(*stream, run));
    TW_REQUIRE_OK(stream->synchronize());
    const BoxCounters after = host_counters(*device);
    const PlanInfo info = plan->info();
    CHECK(info.boxes_loaded > 0);
    CHECK(after.boxes_loaded - before.boxes_loaded == info.boxes_loaded);
    CHECK(after.boxes_stored - before.boxes_stored == info.boxes_stored);
  }
}

TEST_CASE("gemm: a wrong swizzle in a plan's map changes the result") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(8);
  GemmDesc desc;
  desc.m = 128;
  desc.n = 128;
  desc.k = 64;
  Matrix a(device, *stream, 128, 64, Order::row, DType::BF16, 64, 0);
  Matrix b(device, *stream, 64, 128, Order::row, DType::BF16, 128, 0);
  Matrix d(device, *stream, 128, 128, Order::row, DType::BF16, 128, 0);
  a.fill_integers(random);
  b.fill_integers(random);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
  auto& gemm = static_cast<GemmPlan&>(*plan);
  const uint64_t with_maps = feature::wgmma | feature::host;
  if ((device->info().kernel_features & with_maps) == 0) return skip("rows from PTX have no maps");
  const GemmRun run{.a = a.memory.address(), .b = b.memory.address(), .d = d.memory.address()};
  auto result = [&] {
    TW_REQUIRE_OK(gemm.run(*stream, run));
    d.memory.read();
    return std::vector<uint8_t>(d.memory.data(), d.memory.data() + d.memory.bytes());
  };
  const auto right = result();
  // Changes only the swizzle: with another box the kernel would wait forever for its bytes.
  TensorMapBytes bytes;
  std::memcpy(bytes.words, gemm.arguments_for_test().map_a.words, sizeof bytes.words);
  TensorMapDesc planted;
  TW_REQUIRE_OK(decode(bytes, &planted));
  REQUIRE(planted.swizzle == Swizzle::b128);
  planted.swizzle = Swizzle::none;
  TW_REQUIRE_OK(device->encode(planted, &bytes));
  std::memcpy(gemm.arguments_for_test().map_a.words, bytes.words, sizeof bytes.words);
  CHECK(result() != right);
}
