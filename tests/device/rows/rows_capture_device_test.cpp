// SPDX-License-Identifier: Apache-2.0
// Captured runs that read the number of rows on the device, replayed with other indices.
#include <algorithm>
#include <numeric>

#include "ops/rows/rows.hpp"
#include "tests/device/common/arena.hpp"
#include "tests/device/common/replay.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Way {
  const char* name;
  Op op;
  uint32_t reduction, flags;
  int64_t columns;
};

}  // namespace

TEST_CASE("rows: one captured run serves every count") {
  const auto device = open_test_device();
  if (!device) return;
  std::unique_ptr<Stream> stream;
  TW_REQUIRE_OK(device->create_stream(&stream));
  constexpr int64_t kCount = 700;
  constexpr int64_t kRows = 200;
  Arena table(device, *stream, 1 << 19), packed(device, *stream, 1 << 19);
  Arena index(device, *stream, 1 << 13), count(device, *stream, 256);
  Arena workspace(device, *stream, 1 << 20);
  std::mt19937_64 random(31);
  const Way ways[] = {{"gather", Op::gather, kReduceNone, 0, 128},
                      {"gather, misaligned", Op::gather, kReduceNone, 0, 129},
                      {"scatter, last wins", Op::scatter, kReduceNone, kRowsLastWins, 128},
                      {"scatter, adding", Op::scatter, kReduceAdd, 0, 128},
                      {"scatter, adding in order", Op::scatter, kReduceAdd, kRowsDeterministic, 77},
                      {"scatter, maxima", Op::scatter, kReduceMax, 0, 128}};
  for (const Way& way : ways) {
    RowsDesc desc;
    desc.dtype = DType::F32;
    desc.columns = way.columns;
    desc.table_rows = kRows;
    desc.count = kCount;
    desc.reduction = static_cast<int32_t>(way.reduction);
    desc.flags = way.flags;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RowsPlan::create(device, way.op, desc, &plan));
    RowsRun run{.table = table.address(), .index = index.address(), .packed = packed.address()};
    run.device_count = count.address();
    run.invalid_count = count.address() + 64;
    run.workspace = workspace.address();
    run.workspace_bytes = workspace.bytes();
    REQUIRE(plan->info().workspace_bytes <= workspace.bytes());
    Replay replay(device, [&](Stream& on) {
      TW_REQUIRE_OK(static_cast<const RowsPlan&>(*plan).run(on, run));
    });
    for (const int32_t wanted : {700, 0, 1, 350, 699, -3, 900, 64}) {
      INFO(way.name, ", count ", wanted);
      const int64_t rows = std::clamp<int64_t>(wanted, 0, kCount);
      const auto columns = static_cast<size_t>(way.columns);
      for (Arena* operand : {&table, &packed}) {
        auto* values = reinterpret_cast<float*>(operand->image().data());
        for (size_t i = 0; i < operand->image().size() / 4; ++i)
          values[i] = static_cast<float>(pick(random, -4, 4));
        operand->upload();
      }
      std::memset(count.image().data(), 0, count.image().size());
      std::memcpy(count.image().data(), &wanted, 4);
      count.upload();
      int64_t outside = 0;
      std::vector<int32_t> named(kCount);
      for (int32_t& row : named) row = static_cast<int32_t>(pick(random, -5, kRows + 5));
      std::memcpy(index.image().data(), named.data(), named.size() * 4);
      index.upload();
      TW_REQUIRE_OK(stream->synchronize());
      replay();

      Arena& written = way.op == Op::gather ? packed : table;
      std::vector<uint8_t> want = written.image();
      auto* out = reinterpret_cast<float*>(want.data());
      const auto* from =
          reinterpret_cast<const float*>((way.op == Op::gather ? table : packed).image().data());
      for (int64_t i = 0; i < rows; ++i) {
        const int32_t row = named[static_cast<size_t>(i)];
        const bool inside = row >= 0 && row < kRows;
        outside += !inside;
        for (size_t x = 0; x < columns; ++x) {
          const size_t in_packed = static_cast<size_t>(i) * columns + x;
          const size_t in_table = static_cast<size_t>(inside ? row : 0) * columns + x;
          if (way.op == Op::gather)
            out[in_packed] = inside ? from[in_table] : 0.0f;
          else if (inside)
            out[in_table] = way.reduction == kReduceAdd   ? out[in_table] + from[in_packed]
                            : way.reduction == kReduceMax ? std::max(out[in_table], from[in_packed])
                                                          : from[in_packed];
        }
      }
      CHECK(first_difference(written.read(), want) == -1);
      int64_t counted = 0;
      std::memcpy(&counted, &count.read()[64], 8);
      CHECK(counted == outside);
    }
  }
}

// A sequence of gathers and scatters of a few long rows as dependent launches (PDL). Each reads
// what its predecessor writes, and writes where earlier ones have read.
TEST_CASE("rows: dependent launches of a few rows") {
  const auto device = open_test_device();
  if (!device) return;
  std::unique_ptr<Stream> stream;
  TW_REQUIRE_OK(device->create_stream(&stream));
  constexpr int64_t kRows = 300;
  constexpr int64_t kRowBytes = 14336;
  constexpr int kSteps = 24;
  std::mt19937_64 random(77);
  for (const int64_t count : {200, 16})
    for (const DType index_type : {DType::I32, DType::I64}) {
      INFO(count, " rows, ", dtype_name(index_type));
      RowsDesc desc;
      desc.dtype = DType::F32;
      desc.columns = kRowBytes / 4;
      desc.table_rows = kRows;
      desc.count = count;
      desc.index_dtype = index_type;
      const auto row = static_cast<size_t>(kRowBytes);
      const auto index_bytes = static_cast<size_t>(dtype_bytes(index_type));
      const auto rows = static_cast<size_t>(count);
      std::unique_ptr<Plan> plans[2];
      for (const Op op : {Op::gather, Op::scatter}) {
        TW_REQUIRE_OK(RowsPlan::create(device, op, desc, &plans[op == Op::scatter]));
        const std::string kernel = plans[op == Op::scatter]->info().kernel;
        INFO(kernel);
        CHECK(kernel.find("_few_") != std::string::npos);
      }
      Arena table(device, *stream, kRows * row), packed(device, *stream, rows * row);
      Arena index(device, *stream, 2 * kSteps * rows * index_bytes);
      table.fill_random(random);
      packed.fill_random(random);
      // Distinct rows, so that scatters have one result, and some invalid indices.
      std::vector<int64_t> named;
      for (int step = 0; step < 2 * kSteps; ++step) {
        std::vector<int64_t> all(kRows);
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), random);
        for (size_t i = 0; i < rows; ++i) named.push_back(i % 17 == 3 ? -all[i] - 1 : all[i]);
      }
      for (size_t i = 0; i < named.size(); ++i)
        std::memcpy(&index.image()[i * index_bytes], &named[i], index_bytes);
      index.upload();
      TW_REQUIRE_OK(stream->synchronize());
      const auto enqueue = [&](Stream& on) {
        for (int step = 0; step < 2 * kSteps; ++step)
          TW_REQUIRE_OK(static_cast<const RowsPlan&>(*plans[step % 2])
                            .run(on, {.table = table.address(),
                                      .index = index.address() +
                                               static_cast<size_t>(step) * rows * index_bytes,
                                      .packed = packed.address()}));
      };
      std::vector<uint8_t> want_table = table.image();
      std::vector<uint8_t> want_packed = packed.image();
      const auto model = [&] {
        for (size_t k = 0; k < named.size(); ++k) {
          uint8_t* const in_packed = &want_packed[k % rows * row];
          const bool inside = named[k] >= 0;
          uint8_t* const in_table = &want_table[(inside ? static_cast<size_t>(named[k]) : 0) * row];
          if (k / rows % 2 == 1) {
            if (inside) std::memcpy(in_table, in_packed, row);
          } else if (inside) {
            std::memcpy(in_packed, in_table, row);
          } else {
            std::memset(in_packed, 0, row);
          }
        }
      };
      Replay replay(device, enqueue);
      for (int turn = 0; turn < 6; ++turn) {
        if (turn % 2 == 0)
          replay();
        else
          enqueue(*stream);
        TW_REQUIRE_OK(stream->synchronize());
        model();
        CHECK(first_difference(table.read(), want_table) == -1);
        CHECK(first_difference(packed.read(), want_packed) == -1);
      }
    }
}
