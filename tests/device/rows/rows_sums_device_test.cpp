// SPDX-License-Identifier: Apache-2.0
// Compares reductions, weights, groups and the other options of row plans with reference loops. The
// values are small integers, whose sums are exact in every type and order.
#include <algorithm>
#include <cmath>

#include "base/float_formats.hpp"
#include "ops/rows/rows.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> table, index, packed, weights, words, workspace;
  std::mt19937_64 random;

  explicit Bench(uint64_t seed, uint64_t bytes = 1 << 18) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    table = std::make_unique<Arena>(device, *stream, bytes);
    packed = std::make_unique<Arena>(device, *stream, bytes);
    index = std::make_unique<Arena>(device, *stream, 1 << 16);
    weights = std::make_unique<Arena>(device, *stream, 1 << 16);
    words = std::make_unique<Arena>(device, *stream, 256);
    workspace = std::make_unique<Arena>(device, *stream, 4 << 20);
  }
};

double read_value(const uint8_t* at, DType type) {
  const auto get = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case DType::F16:
      return f16_to_float(get(uint16_t{}));
    case DType::BF16:
      return bf16_to_float(get(uint16_t{}));
    case DType::F32:
      return get(float{});
    case DType::F64:
      return get(double{});
    case DType::U32:
      return get(uint32_t{});
    case DType::I32:
      return get(int32_t{});
    case DType::U64:
      return static_cast<double>(get(uint64_t{}));
    default:
      return static_cast<double>(get(int64_t{}));
  }
}

void write_value(uint8_t* at, DType type, double value) {
  const auto put = [&](auto bits) { std::memcpy(at, &bits, sizeof bits); };
  switch (type) {
    case DType::F16:
      return put(float_to_f16(static_cast<float>(value)));
    case DType::BF16:
      return put(float_to_bf16(static_cast<float>(value)));
    case DType::F32:
      return put(static_cast<float>(value));
    case DType::F64:
      return put(value);
    case DType::U32:
      return put(static_cast<uint32_t>(value));
    case DType::I32:
      return put(static_cast<int32_t>(value));
    case DType::U64:
      return put(static_cast<uint64_t>(value));
    default:
      return put(static_cast<int64_t>(value));
  }
}

bool is_unsigned(DType type) {
  return type == DType::U32 || type == DType::U64;
}

// Fills an arena with small integers from `offset` on and random bytes before it.
void fill_values(Arena& arena, std::mt19937_64& random, DType type, int64_t offset, int64_t low,
                 int64_t high) {
  auto& image = arena.image();
  for (uint8_t& byte : image) byte = static_cast<uint8_t>(random());
  const auto step = static_cast<size_t>(dtype_bytes(type));
  for (auto at = static_cast<size_t>(offset); at + step <= image.size(); at += step)
    write_value(&image[at], type, static_cast<double>(pick(random, low, high)));
  arena.upload();
}

struct Case {
  Op op = Op::scatter;
  RowsDesc desc;
  int64_t run_count = -1;
  int64_t device_count = INT64_MIN;  // none
  bool count_outside = false;
  int64_t table_offset = 0;  // bytes from the arenas' begin
  int64_t packed_offset = 0;
  std::vector<int64_t> index;
  std::vector<float> weight;
};

std::string describe(const Case& c) {
  const RowsDesc& d = c.desc;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s reduction %d flags %u group %d %s from %s: table %d rows of %d, pitch %d, "
                "columns %d + %d, %d indices (%s), packed pitch %d, offsets %d %d, run %d, device "
                "count %lld, methods %x",
                family_name(c.op), d.reduction, d.flags, int(d.group), dtype_name(d.dtype),
                d.packed_dtype == DType{0} ? "it" : dtype_name(d.packed_dtype), int(d.table_rows),
                int(d.table_columns), int(d.table_pitch), int(d.column), int(d.columns),
                int(d.count), dtype_name(d.index_dtype), int(d.packed_pitch), int(c.table_offset),
                int(c.packed_offset), int(c.run_count), static_cast<long long>(c.device_count),
                d.methods);
  return text;
}

int64_t real_count(const Case& c) {
  const int64_t count = c.run_count < 0 ? c.desc.count : c.run_count;
  if (c.device_count == INT64_MIN) return count;
  return std::clamp<int64_t>(c.device_count, 0, count);
}

// The layout of an operand, as the C API defines it.
struct View {
  std::vector<uint8_t>& bytes;
  int64_t offset, pitch;
  DType type;
  uint8_t* at(int64_t row, int64_t column) const {
    return &bytes[static_cast<size_t>(offset + (row * pitch + column) * dtype_bytes(type))];
  }
};

double reduced(int32_t reduction, double a, double b) {
  switch (reduction) {
    case kReduceAdd:
      return a + b;
    case kReduceMin:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

// The arena of the written operand after the run.
std::vector<uint8_t> expected(const Case& c, std::vector<uint8_t> table,
                              std::vector<uint8_t> packed) {
  const RowsDesc& d = c.desc;
  const DType packed_type = d.packed_dtype == DType{0} ? d.dtype : d.packed_dtype;
  const int64_t reach = d.column + d.columns;
  const int64_t width = d.table_columns ? d.table_columns : reach;
  const View t{table, c.table_offset, d.table_pitch ? d.table_pitch : width, d.dtype};
  const View p{packed, c.packed_offset, d.packed_pitch ? d.packed_pitch : d.columns, packed_type};
  const auto weight = [&](int64_t i) {
    return c.weight.empty() ? 1.0 : static_cast<double>(c.weight[static_cast<size_t>(i)]);
  };
  for (int64_t i = 0; i < real_count(c); ++i)
    for (int64_t x = 0; x < d.columns; ++x) {
      const int64_t column = d.column + x;
      const bool inside = column >= 0 && column < width;
      double sum = -0.0;  // so that a single product keeps its sign
      bool moved = false;
      for (int64_t j = 0; j < d.group; ++j) {
        const int64_t row = c.index[static_cast<size_t>(i * d.group + j)];
        if (!inside) continue;
        if (row < 0 || row >= d.table_rows) {
          sum += 0.0;
          continue;
        }
        uint8_t* in_table = t.at(row, column);
        const auto bytes = static_cast<size_t>(dtype_bytes(d.dtype));
        if (c.op == Op::gather && d.group == 1 && c.weight.empty()) {
          std::memcpy(p.at(i, x), in_table, bytes);
          moved = true;
        } else if (c.op == Op::gather) {
          sum += weight(i * d.group + j) * read_value(in_table, d.dtype);
        } else if (d.reduction == 0) {
          std::memcpy(in_table, p.at(i, x), bytes);  // the last equal index wins
        } else {
          const double value = weight(i) * read_value(p.at(i, x), packed_type);
          write_value(in_table, d.dtype,
                      reduced(d.reduction, read_value(in_table, d.dtype), value));
        }
      }
      if (c.op != Op::gather || moved) continue;
      if (inside && (d.group > 1 || !c.weight.empty()))
        write_value(p.at(i, x), packed_type, sum);
      else
        std::memset(p.at(i, x), 0, static_cast<size_t>(dtype_bytes(packed_type)));
    }
  return c.op == Op::gather ? packed : table;
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
  if (!c.weight.empty())
    std::memcpy(bench.weights->image().data(), c.weight.data(), c.weight.size() * 4);
  bench.weights->upload();
  // The counter of skipped rows at byte 0, the number of rows at byte 64.
  auto& words = bench.words->image();
  std::memset(words.data(), 0, words.size());
  words[0] = 100;
  const auto narrow =
      static_cast<int32_t>(std::clamp<int64_t>(c.device_count, INT32_MIN, INT32_MAX));
  if (c.desc.index_dtype == DType::I64)
    std::memcpy(&words[64], &c.device_count, 8);
  else
    std::memcpy(&words[64], &narrow, 4);
  bench.words->upload();
}

// Returns false, without a run, if the only allowed methods do not support the case.
bool check_case(Bench& bench, const Case& c, int runs = 1) {
  INFO(describe(c));
  TW_REQUIRE_OK(bench.stream->synchronize());  // an upload may still read an image
  const DType packed_type = c.desc.packed_dtype == DType{0} ? c.desc.dtype : c.desc.packed_dtype;
  const int64_t low = is_unsigned(c.desc.dtype) ? 0 : -3;
  fill_values(*bench.table, bench.random, c.desc.dtype, c.table_offset % 16, low, 3);
  fill_values(*bench.packed, bench.random, packed_type, c.packed_offset % 16, low, 3);
  put_index(bench, c);
  std::unique_ptr<Plan> plan;
  const bool forced = c.desc.methods != ~0u;
  const Code made = RowsPlan::create(bench.device, c.op, c.desc, &plan).code();
  if (forced && made == Code::ERROR_UNSUPPORTED) return false;
  INFO(last_failure().message);
  REQUIRE(made == Code::OK);
  INFO(plan->explain());
  REQUIRE(plan->info().workspace_bytes <= bench.workspace->bytes());
  RowsRun run;
  run.table = bench.table->address() + static_cast<uint64_t>(c.table_offset);
  run.index = bench.index->address();
  run.packed = bench.packed->address() + static_cast<uint64_t>(c.packed_offset);
  run.count = c.run_count;
  if (!c.weight.empty()) run.weights = bench.weights->address();
  if (c.device_count != INT64_MIN) run.device_count = bench.words->address() + 64;
  if (c.count_outside) run.invalid_count = bench.words->address();
  run.workspace = bench.workspace->address();
  run.workspace_bytes = bench.workspace->bytes();
  const auto want = expected(c, bench.table->image(), bench.packed->image());
  for (int k = 0; k < runs; ++k) {
    if (k != 0) bench.table->upload();
    if (k % 2) bench.workspace->fill(static_cast<uint8_t>(k));
    const Code code = static_cast<RowsPlan&>(*plan).run(*bench.stream, run).code();
    if (forced && code == Code::ERROR_MISALIGNED) return false;
    INFO(last_failure().message);
    REQUIRE(code == Code::OK);
    const auto got = (c.op == Op::gather ? bench.packed : bench.table)->read();
    const int64_t at = first_difference(got, want);
    CHECK(at == -1);
    if (at != -1) break;
  }
  if (c.count_outside) {
    int64_t outside = 100;
    for (int64_t i = 0; i < real_count(c) * c.desc.group; ++i) {
      const int64_t row = c.index[static_cast<size_t>(i)];
      outside += row < 0 || row >= c.desc.table_rows;
    }
    int64_t counted = 0;
    std::memcpy(&counted, bench.words->read().data(), 8);
    CHECK(counted == outside);
  }
  return true;
}

enum class Indices { uniform, power, equal, sorted, wild, half, count };

std::vector<int64_t> draw(std::mt19937_64& random, const RowsDesc& d) {
  const auto kind = static_cast<Indices>(pick(random, 0, static_cast<int>(Indices::count) - 1));
  const bool wide = d.index_dtype == DType::I64;
  const int64_t outside[] = {-1,
                             -1024,
                             d.table_rows,
                             INT32_MIN,
                             INT32_MAX,
                             wide ? (int64_t{1} << 32) + 5 : -5,
                             wide ? -(int64_t{1} << 32) : -2,
                             wide ? INT64_MIN : INT32_MIN,
                             wide ? INT64_MAX : INT32_MAX};
  std::vector<int64_t> out;
  const int64_t last = std::max<int64_t>(0, d.table_rows - 1);
  for (int64_t i = 0; i < d.count * d.group; ++i) {
    int64_t row = pick(random, 0, last);
    if (kind == Indices::power)
      while (row > 0 && pick(random, 0, 2) != 0) row /= 2;
    if (kind == Indices::equal || (kind == Indices::half && i % 2)) row = last / 2;
    if (kind == Indices::wild && pick(random, 0, 1)) row = outside[pick(random, 0, 8)];
    out.push_back(row);
  }
  if (kind == Indices::sorted) std::sort(out.begin(), out.end());
  return out;
}

// Draws sizes, all aligned or arbitrary. Returns false if the arenas are too small.
bool draw_sizes(std::mt19937_64& random, Case* c) {
  RowsDesc& d = c->desc;
  const int64_t bytes = dtype_bytes(d.dtype);
  const int64_t packed_bytes = d.packed_dtype == DType{0} ? bytes : dtype_bytes(d.packed_dtype);
  const bool aligned = pick(random, 0, 1) == 0;
  const int64_t unit = aligned ? std::max<int64_t>(1, 16 / std::min(bytes, packed_bytes)) : 1;
  const int64_t most[] = {2, 9, 40, 300, 1000};
  d.index_dtype = pick(random, 0, 2) ? DType::I32 : DType::I64;
  d.columns = pick(random, 1, most[pick(random, 0, 4)]) * unit;
  d.column = pick(random, 0, 1) ? 0 : pick(random, 0, 20) * unit;
  d.table_rows = pick(random, pick(random, 0, 9) ? 1 : 0, 300);
  d.count = pick(random, 1, 500);
  if (pick(random, 0, 2) == 0) {
    // Even in aligned cases the table may end within a unit of 16 bytes.
    d.table_columns = pick(random, 1, 1 + (d.column + d.columns) / unit) * unit;
    if (pick(random, 0, 1)) d.table_columns -= pick(random, 0, unit - 1);
    if (c->op == Op::gather && pick(random, 0, 1)) d.column = -pick(random, 0, 30) * unit;
  }
  const int64_t width = d.table_columns ? d.table_columns : d.column + d.columns;
  if (pick(random, 0, 1))
    d.table_pitch = (width + unit - 1) / unit * unit + pick(random, 0, 9) * unit;
  if (pick(random, 0, 1)) d.packed_pitch = d.columns + pick(random, 0, 9) * unit;
  c->table_offset = 64 + (aligned ? 16 * pick(random, 0, 2) : bytes * pick(random, 0, 8));
  c->packed_offset = 64 + (aligned ? 16 * pick(random, 0, 2) : packed_bytes * pick(random, 0, 8));
  RowsProblem p;
  TW_REQUIRE_OK(rows_problem(c->op, d, &p));
  if (pick(random, 0, 5) == 0) c->run_count = pick(random, 0, d.count);
  if (pick(random, 0, 4) == 0) c->device_count = pick(random, -3, d.count + 9);
  c->count_outside = pick(random, 0, 3) == 0;
  if (pick(random, 0, 4) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 5));
  return p.table_bytes < 250000 && p.packed_bytes < 250000 && d.count * d.group < 8000;
}

void draw_rest(std::mt19937_64& random, Case* c) {
  c->index = draw(random, c->desc);
  if ((c->desc.flags & kRowsWeighted) != 0)
    for (size_t i = 0; i < c->index.size(); ++i)
      c->weight.push_back(static_cast<float>(pick(random, -2, 2)));
}

}  // namespace

TEST_CASE("rows: reductions of every type, weights and mixed types") {
  Bench bench(11);
  if (!bench.device) return;
  constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16, DType::F64,
                              DType::U32, DType::I32, DType::U64,  DType::I64};
  constexpr uint32_t kMethods[] = {~0u, 1u << kRowsSorted | 1u << kRowsReduce,
                                   1u << kRowsBulkReduce};
  for (int k = 0; k < 500;) {
    Case c;
    RowsDesc& d = c.desc;
    d.dtype = kTypes[pick(bench.random, 0, 7)];
    d.reduction = static_cast<int32_t>(pick(bench.random, 1, 3));
    const bool number = d.dtype == DType::F32 || d.dtype == DType::F16 || d.dtype == DType::BF16;
    const bool add = d.reduction == static_cast<int32_t>(kReduceAdd);
    if (number && add) {
      if (d.dtype == DType::F32 && pick(bench.random, 0, 2) == 0)
        d.packed_dtype = pick(bench.random, 0, 1) ? DType::F16 : DType::BF16;
      if (pick(bench.random, 0, 2) == 0) d.flags |= kRowsWeighted;
      if (pick(bench.random, 0, 3) == 0) d.flags |= kRowsAccumulateF32;
    }
    if (!(add && d.dtype == DType::F64) && pick(bench.random, 0, 3) == 0)
      d.flags |= kRowsDeterministic;
    d.methods = kMethods[pick(bench.random, 0, 2)];
    if (!draw_sizes(bench.random, &c)) continue;
    // bf16 holds integers up to 256 exactly; the sums of 40 rows stay below.
    if (add && d.dtype == DType::BF16) d.count = std::min<int64_t>(d.count, 40);
    if (c.run_count > d.count) c.run_count = -1;
    draw_rest(bench.random, &c);
    k += check_case(bench, c);
  }
}

TEST_CASE("rows: weighted gathers and sums of several rows") {
  Bench bench(12);
  if (!bench.device) return;
  constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16};
  for (int k = 0; k < 300;) {
    Case c;
    c.op = Op::gather;
    c.desc.dtype = kTypes[pick(bench.random, 0, 2)];
    c.desc.group = pick(bench.random, 0, 2) ? pick(bench.random, 1, 9) : 1;
    if (c.desc.group == 1 || pick(bench.random, 0, 1)) c.desc.flags = kRowsWeighted;
    const uint32_t methods[] = {~0u, 1u << kRowsSum, 1u << kRowsSumPlain};
    c.desc.methods = methods[pick(bench.random, 0, 2)];
    if (!draw_sizes(bench.random, &c)) continue;
    draw_rest(bench.random, &c);
    k += check_case(bench, c);
  }
}

TEST_CASE("rows: windows that hang over the table") {
  Bench bench(13);
  if (!bench.device) return;
  for (int k = 0; k < 300;) {
    Case c;
    c.op = pick(bench.random, 0, 2) ? Op::gather : Op::scatter;
    c.desc.dtype = pick(bench.random, 0, 1) ? DType::BF16 : DType::F32;
    if (c.op == Op::scatter) c.desc.flags = kRowsLastWins;
    if (!draw_sizes(bench.random, &c) || c.desc.table_columns == 0) continue;
    draw_rest(bench.random, &c);
    k += check_case(bench, c);
  }
}

TEST_CASE("rows: the last of equal indices wins, whole, every time") {
  Bench bench(14, 1 << 20);
  if (!bench.device) return;
  Case c;
  c.desc.dtype = DType::BF16;
  c.desc.columns = 7168;
  c.desc.table_rows = 3;
  c.desc.count = 60;
  c.desc.flags = kRowsLastWins;
  c.index.assign(60, 1);
  CHECK(check_case(bench, c, bench.device->info().kind == DeviceKind::host ? 20 : 1000));
  c.desc.columns = 7167;  // no bulk copies
  c.desc.packed_pitch = 7168;
  CHECK(check_case(bench, c, 20));
}
