// SPDX-License-Identifier: Apache-2.0
// Reproducible sums and values other than small integers: deterministic sums, f32 accumulation of
// bf16, NaNs and infinities, and tables of more than 4 GiB.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_formats.hpp"
#include "ops/rows/rows.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> table, index, packed, workspace;
  std::mt19937_64 random;

  explicit Bench(uint64_t seed) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    table = std::make_unique<Arena>(device, *stream, 1 << 18);
    packed = std::make_unique<Arena>(device, *stream, 1 << 20);
    index = std::make_unique<Arena>(device, *stream, 1 << 16);
    workspace = std::make_unique<Arena>(device, *stream, 1 << 20);
  }
  RowsRun run() const {
    return {.table = table->address(),
            .index = index->address(),
            .packed = packed->address(),
            .workspace = workspace->address(),
            .workspace_bytes = workspace->bytes()};
  }
  void put_index(const std::vector<int32_t>& rows) {
    std::memcpy(index->image().data(), rows.data(), rows.size() * 4);
    index->upload();
  }
  std::vector<uint8_t> scattered(const RowsDesc& desc) {
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RowsPlan::create(device, Op::scatter, desc, &plan));
    table->upload();
    TW_REQUIRE_OK(static_cast<RowsPlan&>(*plan).run(*stream, run()));
    return table->read();
  }
};

float number_at(const std::vector<uint8_t>& bytes, size_t i, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, &bytes[i * 4], 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, &bytes[i * 2], 2);
  return type == DType::F16 ? f16_to_float(bits) : bf16_to_float(bits);
}

void put_number(std::vector<uint8_t>& bytes, size_t i, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(&bytes[i * 4], &value, 4);
    return;
  }
  const uint16_t bits = type == DType::F16 ? float_to_f16(value) : float_to_bf16(value);
  std::memcpy(&bytes[i * 2], &bits, 2);
}

// Relative rounding error of a type.
double epsilon(DType type) {
  return type == DType::F32 ? 0x1p-24 : type == DType::F16 ? 0x1p-11 : 0x1p-8;
}

}  // namespace

TEST_CASE("rows: deterministic sums give the same bits every time and on any number of SMs") {
  Bench bench(21);
  if (!bench.device) return;
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    for (const int64_t columns : {64, 67}) {
      RowsDesc desc;
      desc.dtype = type;
      desc.columns = columns;
      desc.table_rows = 300;
      desc.count = 3000;
      desc.reduction = kReduceAdd;
      desc.flags = kRowsDeterministic;
      std::uniform_real_distribution<float> draw(-1.0f, 1.0f);
      for (size_t i = 0; i < 300u * static_cast<size_t>(columns); ++i)
        put_number(bench.table->image(), i, type, draw(bench.random));
      for (size_t i = 0; i < 3000u * static_cast<size_t>(columns); ++i)
        put_number(bench.packed->image(), i, type, draw(bench.random));
      bench.packed->upload();
      std::vector<int32_t> rows(3000);
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = i % 2 ? 123 : static_cast<int32_t>(pick(bench.random, -2, 305));
      bench.put_index(rows);

      std::vector<double> exact, terms;
      for (size_t i = 0; i < 300u * static_cast<size_t>(columns); ++i) {
        exact.push_back(number_at(bench.table->image(), i, type));
        terms.push_back(std::fabs(exact.back()));
      }
      for (size_t i = 0; i < rows.size(); ++i)
        for (size_t x = 0; x < static_cast<size_t>(columns); ++x) {
          if (rows[i] < 0 || rows[i] >= 300) continue;
          const size_t at = static_cast<size_t>(rows[i] * columns) + x;
          const double value =
              number_at(bench.packed->image(), i * static_cast<size_t>(columns) + x, type);
          exact[at] += value;
          terms[at] += std::fabs(value);
        }
      const auto first = bench.scattered(desc);
      double worst = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        // f32 sums of up to 1,500 terms, then one rounding to the type.
        const double allowed = terms[i] * 1500 * 0x1p-24 + std::fabs(exact[i]) * epsilon(type);
        worst =
            std::max(worst, std::fabs(number_at(first, i, type) - exact[i]) / (allowed + 1e-30));
      }
      CHECK(worst <= 1);
      for (int again = 0; again < 12; ++again) {
        bench.workspace->fill(static_cast<uint8_t>(again * 37));
        RowsDesc other = desc;
        other.max_sms = again % 3 == 1 ? 1 : again % 3 == 2 ? 7 : 0;
        CHECK(first_difference(bench.scattered(other), first) == -1);
      }
    }
}

TEST_CASE("rows: bf16 sums in f32 on request") {
  Bench bench(22);
  if (!bench.device) return;
  RowsDesc desc;
  desc.dtype = DType::BF16;
  desc.columns = 256;
  desc.table_rows = 2;
  desc.count = 100;
  desc.reduction = kReduceAdd;
  for (size_t i = 0; i < 512; ++i) put_number(bench.table->image(), i, DType::BF16, 256.0f);
  for (size_t i = 0; i < 25600; ++i) put_number(bench.packed->image(), i, DType::BF16, 1.0f);
  bench.packed->upload();
  bench.put_index(std::vector<int32_t>(100, 1));
  const auto value = [&](uint32_t flags, uint32_t methods) {
    desc.flags = flags;
    desc.methods = methods;
    const auto got = bench.scattered(desc);
    for (size_t i = 0; i < 256; ++i) {
      CHECK(number_at(got, i, DType::BF16) == 256.0f);
      CHECK(number_at(got, 256 + i, DType::BF16) == number_at(got, 256, DType::BF16));
    }
    return number_at(got, 256, DType::BF16);
  };
  CHECK(value(0, 1u << kRowsBulkReduce) == 256.0f);  // each addend is lost
  CHECK(value(kRowsAccumulateF32, ~0u) == 356.0f);
  CHECK(value(kRowsDeterministic, ~0u) == 356.0f);
  CHECK(value(kRowsDeterministic | kRowsAccumulateF32, ~0u) == 356.0f);
}

// Bulk reductions and reductions by element must agree with the measured behavior of the TMA.
TEST_CASE("rows: minima and maxima with NaNs and infinities") {
  Bench bench(23);
  if (!bench.device) return;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float kinds[] = {0.0f, -0.0f, 1.0f, -2.0f, kInfinity, -kInfinity, kNan, -kNan};
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    for (const uint32_t op : {kReduceMin, kReduceMax})
      for (const uint32_t method : {kRowsBulkReduce, kRowsReduce}) {
        if (type == DType::F32 && method == kRowsBulkReduce) continue;
        RowsDesc desc;
        desc.dtype = type;
        desc.columns = 64;
        desc.table_rows = 1;
        desc.count = 1;
        desc.reduction = static_cast<int32_t>(op);
        desc.methods = 1u << method;
        for (size_t i = 0; i < 64; ++i) {
          put_number(bench.table->image(), i, type, kinds[i / 8]);
          put_number(bench.packed->image(), i, type, kinds[i % 8]);
        }
        bench.packed->upload();
        bench.put_index({0});
        const auto got = bench.scattered(desc);
        for (size_t i = 0; i < 64; ++i) {
          const float a = kinds[i / 8];
          const float b = kinds[i % 8];
          const float value = number_at(got, i, type);
          INFO(dtype_name(type), " op ", op, " method ", method, ": ", a, " and ", b);
          if (std::isnan(a) && std::isnan(b)) {
            CHECK(std::isnan(value));
            continue;
          }
          const bool least = op == kReduceMin;
          const bool less = a != b ? a < b : std::signbit(a) && !std::signbit(b);
          const float wanted = std::isnan(a) ? b : std::isnan(b) ? a : less == least ? a : b;
          CHECK(value == wanted);
          CHECK(std::signbit(value) == std::signbit(wanted));
        }
      }
}

TEST_CASE("rows: a table of more than four gigabytes") {
  Bench bench(24);
  if (!bench.device) return;
  constexpr int64_t kPitch = (int64_t{1} << 31) + 32;
  constexpr int64_t kRows = 3;
  constexpr int64_t kBytes = 4096;
  uint64_t base = 0;
  if (!bench.device->allocate(kRows * kPitch, &base).ok()) {
    skip("not enough memory");
    return;
  }
  const uint64_t table = (base + 15) / 16 * 16;
  std::vector<std::vector<uint8_t>> rows(kRows, std::vector<uint8_t>(kBytes));
  for (int64_t r = 0; r < kRows; ++r) {
    for (uint8_t& byte : rows[static_cast<size_t>(r)]) byte = static_cast<uint8_t>(bench.random());
    TW_REQUIRE_OK(bench.stream->copy_to_device(table + static_cast<uint64_t>(r * kPitch),
                                               rows[static_cast<size_t>(r)].data(), kBytes));
  }
  TW_REQUIRE_OK(bench.stream->synchronize());
  const std::vector<int32_t> order = {2, 0, 1, -1, 2, 3, 1, 2};
  bench.put_index(order);
  for (const uint32_t method : {kRowsFour, kRowsBulk, kRowsPlain}) {
    RowsDesc desc;
    desc.dtype = DType::U8;
    desc.columns = kBytes;
    desc.table_rows = kRows;
    desc.table_pitch = kPitch;
    desc.count = static_cast<int64_t>(order.size());
    desc.methods = 1u << method;
    std::unique_ptr<Plan> plan;
    if (!RowsPlan::create(bench.device, Op::gather, desc, &plan).ok()) {
      CHECK(method == kRowsFour);  // no gather4 on compute capability 9.0
      continue;
    }
    bench.packed->fill(0x5a);
    RowsRun run = bench.run();
    run.table = table;
    TW_REQUIRE_OK(static_cast<RowsPlan&>(*plan).run(*bench.stream, run));
    const auto got = bench.packed->read();
    for (size_t i = 0; i < order.size(); ++i) {
      const bool named = order[i] >= 0 && order[i] < kRows;
      const std::vector<uint8_t> zeros(kBytes);
      const auto& want = named ? rows[static_cast<size_t>(order[i])] : zeros;
      CHECK(std::memcmp(&got[i * kBytes], want.data(), kBytes) == 0);
    }
  }
  TW_REQUIRE_OK(bench.device->release(base));
}
