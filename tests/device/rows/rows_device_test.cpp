// SPDX-License-Identifier: Apache-2.0
// Compares gather and scatter with a reference loop: random widths, pitches, windows and indices.
#include <algorithm>

#include "ops/rows/rows.hpp"
#include "runtime/host/host_device.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr DType kTypes[] = {DType::U8, DType::BF16, DType::F32, DType::I64, DType::B128};

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> table, index, packed;
  std::mt19937_64 random;

  explicit Bench(uint64_t seed, uint64_t bytes = 1 << 18) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    table = std::make_unique<Arena>(device, *stream, bytes);
    packed = std::make_unique<Arena>(device, *stream, bytes);
    index = std::make_unique<Arena>(device, *stream, 1 << 16);
  }
};

struct Case {
  Op op = Op::gather;
  RowsDesc desc;
  int64_t run_count = -1;
  int64_t table_offset = 0;  // bytes from the arenas' begin
  int64_t packed_offset = 0;
  std::vector<int64_t> index;
};

std::string describe(const Case& c) {
  const RowsDesc& d = c.desc;
  char text[320];
  std::snprintf(
      text, sizeof text,
      "%s %s: table %d rows, pitch %d, columns %d + %d, %d indices (%s), packed pitch %d, "
      "offsets %d %d, run %d, methods %u",
      family_name(c.op), dtype_name(d.dtype), int(d.table_rows), int(d.table_pitch), int(d.column),
      int(d.columns), int(d.count), dtype_name(d.index_dtype), int(d.packed_pitch),
      int(c.table_offset), int(c.packed_offset), int(c.run_count), d.methods & 15);
  return text;
}

void put_index(Bench& bench, const Case& c) {
  auto& image = bench.index->image();
  std::memset(image.data(), 0x77, image.size());
  for (size_t i = 0; i < c.index.size(); ++i) {
    const auto narrow = static_cast<int32_t>(c.index[i]);
    if (c.desc.index_dtype == DType::I64)
      std::memcpy(&image[i * 8], &c.index[i], 8);
    else
      std::memcpy(&image[i * 4], &narrow, 4);
  }
  bench.index->upload();
}

// The arena of the written operand after the run.
std::vector<uint8_t> expected(const Case& c, const std::vector<uint8_t>& table,
                              const std::vector<uint8_t>& packed) {
  const RowsDesc& d = c.desc;
  std::vector<uint8_t> out = c.op == Op::gather ? packed : table;
  const int64_t count = c.run_count < 0 ? d.count : c.run_count;
  const int64_t reach = d.column + d.columns;
  const int64_t width = d.table_columns ? d.table_columns : reach;
  const int64_t table_pitch = d.table_pitch ? d.table_pitch : width;
  const int64_t packed_pitch = d.packed_pitch ? d.packed_pitch : d.columns;
  const auto bytes = static_cast<size_t>(dtype_bytes(d.dtype));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t x = 0; x < d.columns; ++x) {
      const int64_t row = c.index[static_cast<size_t>(i)];
      const int64_t column = d.column + x;
      const bool named = row >= 0 && row < d.table_rows && column >= 0 && column < width;
      const size_t in_packed =
          static_cast<size_t>(c.packed_offset) + static_cast<size_t>(i * packed_pitch + x) * bytes;
      const size_t in_table = static_cast<size_t>(c.table_offset) +
                              (named ? static_cast<size_t>(row * table_pitch + column) * bytes : 0);
      if (c.op == Op::scatter && named) std::memcpy(&out[in_table], &packed[in_packed], bytes);
      if (c.op == Op::gather && named) std::memcpy(&out[in_packed], &table[in_table], bytes);
      if (c.op == Op::gather && !named) std::memset(&out[in_packed], 0, bytes);
    }
  return out;
}

// Makes a plan. Returns false if the only allowed method does not support the case.
bool plan_case(Bench& bench, const Case& c, std::unique_ptr<Plan>* plan) {
  const Code code = RowsPlan::create(bench.device, c.op, c.desc, plan).code();
  if (code == Code::ERROR_UNSUPPORTED && c.desc.methods != ~0u) return false;
  INFO(last_failure().message);
  REQUIRE(code == Code::OK);
  return true;
}

// Returns false, without a run, if the only allowed method does not support the case.
bool check_case(Bench& bench, const Case& c) {
  INFO(describe(c));
  const bool gather = c.op == Op::gather;
  bench.table->fill_random(bench.random);
  bench.packed->fill_random(bench.random);
  put_index(bench, c);
  std::unique_ptr<Plan> plan;
  if (!plan_case(bench, c, &plan)) return false;
  INFO(plan->explain());
  const RowsRun run{.table = bench.table->address() + static_cast<uint64_t>(c.table_offset),
                    .index = bench.index->address(),
                    .packed = bench.packed->address() + static_cast<uint64_t>(c.packed_offset),
                    .count = c.run_count};
  TW_REQUIRE_OK(bench.stream->synchronize());
  const BoxCounters before = host_counters(*bench.device);
  const Code code = static_cast<RowsPlan&>(*plan).run(*bench.stream, run).code();
  if (code == Code::ERROR_MISALIGNED && c.desc.methods != ~0u) return false;
  INFO(last_failure().message);
  REQUIRE(code == Code::OK);
  const auto got = (gather ? bench.packed : bench.table)->read();
  CHECK(first_difference(got, expected(c, bench.table->image(), bench.packed->image())) == -1);
  const bool all_named = std::all_of(c.index.begin(), c.index.end(), [&](int64_t row) {
    return row >= 0 && row < c.desc.table_rows;
  });
  if (bench.device->info().kind == DeviceKind::host && all_named && c.run_count < 0 &&
      run.table % 16 == 0 && run.packed % 16 == 0) {
    const BoxCounters after = host_counters(*bench.device);
    CHECK(after.boxes_loaded - before.boxes_loaded == plan->info().boxes_loaded);
    CHECK(after.boxes_stored - before.boxes_stored == plan->info().boxes_stored);
  }
  return true;
}

enum class Indices { uniform, permutation, equal, sorted, wild, count };

// Draws indices. `unique`: each row at most once, as a scatter without a defined winner needs.
std::vector<int64_t> draw(std::mt19937_64& random, Indices kind, const RowsDesc& d, bool unique) {
  std::vector<int64_t> out;
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < d.table_rows; ++r) rows.push_back(r);
  std::shuffle(rows.begin(), rows.end(), random);
  const bool wide = d.index_dtype == DType::I64;
  const int64_t outside[] = {-1,
                             -1024,
                             d.table_rows,
                             d.table_rows + 7,
                             INT32_MIN,
                             INT32_MAX,
                             wide ? (int64_t{1} << 32) + 5 : -5,
                             wide ? -(int64_t{1} << 32) : -2,
                             wide ? INT64_MIN : INT32_MIN,
                             wide ? INT64_MAX : INT32_MAX};
  for (int64_t i = 0; i < d.count; ++i) {
    const bool left = i < d.table_rows;
    int64_t row = unique ? (left ? rows[static_cast<size_t>(i)] : -1)
                         : pick(random, 0, std::max<int64_t>(0, d.table_rows - 1));
    if (kind == Indices::equal && !unique) row = d.table_rows / 2;
    if (kind == Indices::wild && pick(random, 0, 1)) row = outside[pick(random, 0, 9)];
    out.push_back(row);
  }
  if (kind == Indices::sorted) std::sort(out.begin(), out.end());
  return out;
}

Case random_case(std::mt19937_64& random) {
  for (;;) {
    Case c;
    RowsDesc& d = c.desc;
    c.op = pick(random, 0, 1) ? Op::gather : Op::scatter;
    d.dtype = kTypes[pick(random, 0, 4)];
    d.index_dtype = pick(random, 0, 2) ? DType::I32 : DType::I64;
    const int64_t bytes = dtype_bytes(d.dtype);
    const bool aligned = pick(random, 0, 1) == 0;
    const int64_t unit = aligned ? std::max<int64_t>(1, 16 / bytes) : 1;
    const int64_t most[] = {2, 9, 40, 300, 1500};
    d.columns = pick(random, 1, most[pick(random, 0, 4)]) * unit;
    d.column = pick(random, 0, 1) ? 0 : pick(random, 0, 20) * unit;
    d.table_rows = pick(random, pick(random, 0, 9) ? 1 : 0, 300);
    d.count = pick(random, 1, 400);
    if (pick(random, 0, 2) == 0) {
      d.table_columns = pick(random, 1, 1 + (d.column + d.columns) / unit) * unit;
      if (c.op == Op::gather && pick(random, 0, 1)) d.column = -pick(random, 0, 20) * unit;
    }
    const int64_t width = d.table_columns ? d.table_columns : d.column + d.columns;
    if (pick(random, 0, 1)) d.table_pitch = width + pick(random, 0, 9) * unit;
    if (pick(random, 0, 1)) d.packed_pitch = d.columns + pick(random, 0, 9) * unit;
    const int64_t offset = pick(random, 0, 2) ? 16 : bytes;
    c.table_offset = 64 + pick(random, 0, 32) / offset * offset;
    c.packed_offset = 64 + pick(random, 0, 32) / offset * offset;
    RowsProblem p;
    if (!rows_problem(c.op, d, &p).ok()) continue;
    if (p.table_bytes > 260000 || p.packed_bytes > 260000) continue;
    if (pick(random, 0, 5) == 0) c.run_count = pick(random, 0, d.count);
    if (pick(random, 0, 4) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 5));
    if (pick(random, 0, 4) == 0) d.launch_rows = pick(random, 1, 200);
    c.index = draw(random, static_cast<Indices>(pick(random, 0, 4)), d, c.op == Op::scatter);
    return c;
  }
}

}  // namespace

TEST_CASE("rows: random widths, pitches, windows, offsets and indices") {
  Bench bench(1);
  if (!bench.device) return;
  for (int i = 0; i < 400; ++i) CHECK(check_case(bench, random_case(bench.random)));
}

// Each method alone on all cases it supports, even if another is faster.
TEST_CASE("rows: every method on random rows") {
  Bench bench(6);
  if (!bench.device) return;
  const bool host = bench.device->info().kind == DeviceKind::host;
  const FeatureMask has = bench.device->info().kernel_features;
  for (const uint32_t method :
       {kRowsFour, kRowsBulk, kRowsStaged, kRowsShift, kRowsPlain, kRowsFew}) {
    int done[2] = {};
    for (int i = 0; i < 2000 && done[0] + done[1] < 150; ++i) {
      Case c = random_case(bench.random);
      c.desc.methods = 1u << method;
      done[c.op == Op::gather] += check_case(bench, c);
    }
    INFO("method ", method);
    const bool gathers = method != kRowsFour || host || (has & feature::gather4) != 0;
    const bool scatters = method != kRowsFour || host || (has & feature::scatter4) != 0;
    CHECK(done[1] >= (gathers ? 40 : 0));
    CHECK(done[0] >= (scatters ? 40 : 0));
  }
}

// The sizes of Triton's tutorial on gather4 and scatter4, with windows before and after the table.
TEST_CASE("rows: the sizes of the tutorial on gather4 and scatter4") {
  Bench bench(2, 1024 * 1024 * 4 + 4096);
  if (!bench.device) return;
  for (const uint32_t methods : {~0u, 1u << kRowsFour})
    for (const DType type : {DType::BF16, DType::F32})
      for (const int64_t rows : {8, 128})
        for (const int64_t width : {16, 128})
          for (const int64_t column : {-16, 0, 48, 1000})
            for (const Op op : {Op::gather, Op::scatter}) {
              if (op == Op::scatter && column < 0) continue;  // refused, see below
              Case c;
              c.op = op;
              c.desc.methods = methods;
              c.desc.dtype = type;
              c.desc.table_rows = 1024;
              c.desc.table_columns = 1024;
              c.desc.column = column;
              c.desc.columns = width;
              c.desc.count = rows;
              for (int64_t i = 0; i < rows; ++i) {
                int64_t row = pick(bench.random, -1024, 2048);
                const bool again = std::find(c.index.begin(), c.index.end(), row) != c.index.end();
                c.index.push_back(op == Op::scatter && again ? -1 : row);
              }
              const bool done = check_case(bench, c);
              if (methods == ~0u || bench.device->info().kind == DeviceKind::host) CHECK(done);
            }
}

// With a window before the table, the moved bytes begin at another offset than the packed rows.
TEST_CASE("rows: windows before the table's first column, at every address") {
  Bench bench(7);
  if (!bench.device) return;
  for (const DType type : {DType::U8, DType::BF16, DType::F32, DType::I64, DType::B128})
    for (const int64_t column : {-1, -3, -9})
      for (const int64_t inside : {2, 8, 64, 1100}) {
        const int64_t bytes = dtype_bytes(type);
        if (inside * bytes > 5000) continue;
        Case c;
        c.desc.dtype = type;
        c.desc.table_rows = 20;
        c.desc.table_columns = inside * std::max<int64_t>(1, 4 / bytes);
        c.desc.column = column;
        c.desc.columns = c.desc.table_columns - column;
        c.desc.packed_pitch = (c.desc.columns + 15) / 16 * 16;
        for (const int64_t count : {1, 20}) {
          c.desc.count = count;
          c.index = draw(bench.random, Indices::wild, c.desc, false);
          for (int64_t at = 0; at < 16; at += bytes) {
            c.packed_offset = 64 + at;
            c.table_offset = 64 + pick(bench.random, 0, 1) * bytes;
            CHECK(check_case(bench, c));
          }
        }
      }
}

TEST_CASE("rows: long rows in parts, and reused stages") {
  Bench bench(3, 3 << 20);
  if (!bench.device) return;
  for (const Op op : {Op::gather, Op::scatter})
    for (const int64_t columns : {2048, 7168, 100000, 500000}) {
      Case c;
      c.op = op;
      c.desc.dtype = DType::BF16;
      c.desc.max_sms = 2;
      c.desc.columns = columns;
      c.desc.table_rows = std::max<int64_t>(1, (2 << 20) / (columns * 2));
      c.desc.count = std::max<int64_t>(1, c.desc.table_rows - 3);
      c.index = draw(bench.random, Indices::permutation, c.desc, true);
      check_case(bench, c);
      if (c.index.size() > 2) c.index[1] = -7;
      check_case(bench, c);
    }
}

TEST_CASE("rows: equal indices in a scatter leave whole elements of one of the rows") {
  Bench bench(4);
  if (!bench.device) return;
  Case c;
  c.op = Op::scatter;
  c.desc.dtype = DType::I64;
  c.desc.columns = 24;
  c.desc.table_rows = 3;
  c.desc.count = 500;
  for (int64_t i = 0; i < c.desc.count; ++i) c.index.push_back(1);
  bench.table->fill(0xa7);
  auto& packed = bench.packed->image();
  for (int64_t i = 0; i < c.desc.count * 24; ++i) {
    const int64_t row = i / 24;
    std::memcpy(&packed[static_cast<size_t>(i) * 8], &row, 8);
  }
  bench.packed->upload();
  put_index(bench, c);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RowsPlan::create(bench.device, c.op, c.desc, &plan));
  const RowsRun run{.table = bench.table->address(),
                    .index = bench.index->address(),
                    .packed = bench.packed->address()};
  TW_REQUIRE_OK(static_cast<RowsPlan&>(*plan).run(*bench.stream, run));
  const auto got = bench.table->read();
  for (size_t at = 0; at < got.size(); at += 8) {
    int64_t value = 0;
    std::memcpy(&value, &got[at], 8);
    const bool written = at >= 192 && at < 384;
    if (written) CHECK((value >= 0 && value < c.desc.count));
    if (!written && got[at] != 0xa7) FAIL("a byte beside the named row changed");
  }
}

namespace {

// Moves rows within one matrix, from the columns at `from` to those at `to`, or back.
Code move_columns(Bench& bench, Case& c, int64_t pitch, int64_t from, int64_t to) {
  INFO(describe(c), ", from ", from, " to ", to);
  RowsDesc& d = c.desc;
  d.column = from;
  d.table_pitch = d.packed_pitch = pitch;
  c.packed_offset = to * dtype_bytes(d.dtype);
  bench.table->fill_random(bench.random);
  put_index(bench, c);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RowsPlan::create(bench.device, c.op, d, &plan));
  INFO(plan->explain());
  const uint64_t matrix = bench.table->address();
  const RowsRun run{.table = matrix,
                    .index = bench.index->address(),
                    .packed = matrix + static_cast<uint64_t>(c.packed_offset)};
  const Code code = static_cast<RowsPlan&>(*plan).run(*bench.stream, run).code();
  const auto before = bench.table->image();
  const auto after = bench.table->read();
  const auto wanted = code == Code::OK ? expected(c, before, before) : before;
  CHECK(first_difference(after, wanted) == -1);
  return code;
}

}  // namespace

// Source and destination are disjoint columns of one matrix, such as K and V.
TEST_CASE("rows: from some columns of a matrix to others of its own") {
  Bench bench(8);
  if (!bench.device) return;
  for (const Op op : {Op::gather, Op::scatter})
    for (const DType type : {DType::U8, DType::BF16, DType::F32})
      for (const int64_t columns : {8, 37, 256})
        for (const int64_t gap : {0, 5, 32}) {
          Case c;
          c.op = op;
          c.desc.dtype = type;
          c.desc.columns = columns;
          c.desc.table_rows = c.desc.count = 40;
          c.index = draw(bench.random, Indices::permutation, c.desc, true);
          const int64_t other = columns + gap;
          const int64_t pitch = other + columns + gap;
          CHECK(move_columns(bench, c, pitch, other, 0) == Code::OK);
          CHECK(move_columns(bench, c, pitch, 0, other) == Code::OK);
          CHECK(move_columns(bench, c, pitch, 0, columns - 1) == Code::ERROR_OVERLAP);
          CHECK(move_columns(bench, c, pitch, columns - 1, 0) == Code::ERROR_OVERLAP);
          // Half of the window is beyond the table: gathers write zeros there, scatters skip it.
          c.desc.table_columns = other + columns / 2;
          CHECK(move_columns(bench, c, pitch, other, other - columns / 2) ==
                (op == Op::gather ? Code::ERROR_OVERLAP : Code::OK));
        }
}

TEST_CASE("rows: nothing to do, and refusals") {
  Bench bench(5);
  if (!bench.device) return;
  RowsDesc desc;
  desc.columns = 64;
  desc.table_rows = 10;
  desc.count = 8;
  std::unique_ptr<Plan> plan;
  const auto refused = [&](auto change) {
    RowsDesc d = desc;
    change(d);
    return RowsPlan::create(bench.device, Op::gather, d, &plan).code();
  };
  CHECK(refused([](RowsDesc& d) { d.columns = -1; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.column = -8; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.index_dtype = DType::F32; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.dtype = DType{999}; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.table_pitch = 63; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.packed_pitch = 63; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.table_alignment = 24; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](RowsDesc& d) { d.table_rows = INT64_MAX; }) == Code::ERROR_OVERFLOW);
  CHECK(refused([](RowsDesc& d) { d.count = INT64_MAX; }) == Code::ERROR_OVERFLOW);
  CHECK(refused([](RowsDesc& d) { d.column = INT64_MAX; }) == Code::ERROR_OVERFLOW);
  CHECK(refused([](RowsDesc& d) { d.columns = int64_t{1} << 40; }) == Code::ERROR_UNSUPPORTED);

  desc.packed_alignment = 16;
  TW_REQUIRE_OK(RowsPlan::create(bench.device, Op::gather, desc, &plan));
  auto& rows = static_cast<RowsPlan&>(*plan);
  const uint64_t table = bench.table->address();
  const uint64_t packed = bench.packed->address();
  const uint64_t index = bench.index->address();
  const auto run = [&](uint64_t t, uint64_t i, uint64_t p, int64_t count = -1) {
    return rows.run(*bench.stream, {.table = t, .index = i, .packed = p, .count = count}).code();
  };
  CHECK(run(table, index, packed, 9) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(table, index, packed, -2) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(table, index, packed, 0) == Code::OK);
  CHECK(run(0, index, packed) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(table, 0, packed) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(table, index + 2, packed) == Code::ERROR_MISALIGNED);
  CHECK(run(table + 1, index, packed) == Code::ERROR_MISALIGNED);
  CHECK(run(table, index, packed + 2) == Code::ERROR_MISALIGNED);
  CHECK(run(table, index, table + 128) == Code::ERROR_OVERLAP);
  CHECK(run(table, packed + 16, packed) == Code::ERROR_OVERLAP);

  desc.count = 0;
  TW_REQUIRE_OK(RowsPlan::create(bench.device, Op::gather, desc, &plan));
  TW_REQUIRE_OK(static_cast<RowsPlan&>(*plan).run(*bench.stream, {}));
  TW_REQUIRE_OK(bench.stream->synchronize());
}
