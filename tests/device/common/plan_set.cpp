// SPDX-License-Identifier: Apache-2.0
#include "tests/device/common/plan_set.hpp"

#include <cstring>
#include <random>

namespace tw::test {
namespace {

template <class T>
void put(std::vector<uint8_t>* bytes, int64_t element, T value) {
  std::memcpy(bytes->data() + element * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

uint16_t bf16_of(int value) {
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

std::vector<uint16_t> random_u16(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint16_t> out(count);
  for (uint16_t& value : out) value = static_cast<uint16_t>(random());
  return out;
}

}  // namespace

uint64_t PlanSet::input(const void* bytes, size_t size) {
  uint64_t address = 0;
  TW_REQUIRE_CALL(tw_malloc(device_, size, &address));
  inputs_.push_back(address);
  TW_REQUIRE_CALL(tw_memcpy_to_device(setup_.get(), address, bytes, size));
  TW_REQUIRE_CALL(tw_stream_synchronize(setup_.get()));
  return address;
}

uint64_t PlanSet::output(size_t size) {
  const uint64_t at = out_ + used_;
  used_ += (size + 255) / 256 * 256;
  REQUIRE(used_ <= kOutBytes);
  return at;
}

void PlanSet::add_copy(int k, bool transpose) {
  const int64_t rows = 96 + 8 * k, columns = 120 + 8 * (k % 5), pitch = columns + 8;
  const std::vector<uint16_t> in = random_u16(static_cast<size_t>(rows * columns), 100u + k);
  tw_copy_desc desc;
  TW_REQUIRE_CALL(tw_copy_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 2;
  desc.shape[0] = rows, desc.shape[1] = columns;
  desc.src_stride[0] = columns, desc.src_stride[1] = 1;
  desc.dst_stride[0] = transpose ? 1 : pitch;
  desc.dst_stride[1] = transpose ? rows : 1;
  Job job;
  job.expected.assign(static_cast<size_t>(transpose ? rows * columns : rows * pitch) * 2, kPoison);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      put(&job.expected, i * desc.dst_stride[0] + j * desc.dst_stride[1],
          in[static_cast<size_t>(i * columns + j)]);
  tw_copy_args args;
  TW_REQUIRE_CALL(tw_copy_args_init(&args, sizeof args));
  args.src = input(in.data(), in.size() * 2);
  args.dst = job.out = output(job.expected.size());
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_copy_plan(device_, &desc, &plan));
  job.name = transpose ? "transpose" : "copy";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_copy_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

void PlanSet::add_rows(int k, bool scatter) {
  const int64_t table_rows = 200 + 10 * k, columns = 72 + 8 * (k % 4), count = 100 + k;
  std::vector<int32_t> index(static_cast<size_t>(count));
  // 7 is coprime to the table sizes of scatters (k = 4, 14, ...), so no row is scattered to twice.
  for (int64_t i = 0; i < count; ++i)
    index[static_cast<size_t>(i)] = static_cast<int32_t>((i * 7 + k) % table_rows);
  const int64_t in_rows = scatter ? count : table_rows;
  const std::vector<uint16_t> in = random_u16(static_cast<size_t>(in_rows * columns), 200u + k);
  Job job;
  job.expected.assign(static_cast<size_t>((scatter ? table_rows : count) * columns) * 2, kPoison);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t row = index[static_cast<size_t>(i)];
      put(&job.expected, (scatter ? row : i) * columns + j,
          in[static_cast<size_t>((scatter ? i : row) * columns + j)]);
    }
  tw_rows_desc desc;
  TW_REQUIRE_CALL(tw_rows_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U16;
  desc.table_rows = table_rows;
  desc.columns = columns;
  desc.count = count;
  tw_rows_args args;
  TW_REQUIRE_CALL(tw_rows_args_init(&args, sizeof args));
  const uint64_t from = input(in.data(), in.size() * 2);
  job.out = output(job.expected.size());
  args.index = input(index.data(), index.size() * 4);
  args.table = scatter ? job.out : from;
  args.packed = scatter ? from : job.out;
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL((scatter ? tw_scatter_plan : tw_gather_plan)(device_, &desc, &plan));
  job.name = scatter ? "scatter" : "gather";
  job.plan.reset(plan);
  const auto run = scatter ? tw_scatter_run : tw_gather_run;
  job.run = [args, run](tw_plan* p, tw_stream* s) { return run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

void PlanSet::add_gemm(int k) {
  const int64_t m = 64 + 16 * (k % 4), n = 96 + 8 * (k % 3), depth = 64 + 8 * (k % 5);
  std::mt19937_64 random(300u + static_cast<uint64_t>(k));
  std::vector<int> a(static_cast<size_t>(m * depth)), b(static_cast<size_t>(depth * n));
  for (int& value : a) value = static_cast<int>(random() % 9) - 4;
  for (int& value : b) value = static_cast<int>(random() % 9) - 4;
  std::vector<uint16_t> a_bits(a.size()), b_bits(b.size());
  for (size_t i = 0; i < a.size(); ++i) a_bits[i] = bf16_of(a[i]);
  for (size_t i = 0; i < b.size(); ++i) b_bits[i] = bf16_of(b[i]);
  Job job;
  job.expected.assign(static_cast<size_t>(m * n) * 4, kPoison);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int sum = 0;
      for (int64_t l = 0; l < depth; ++l)
        sum += a[static_cast<size_t>(i * depth + l)] * b[static_cast<size_t>(l * n + j)];
      put(&job.expected, i * n + j, static_cast<float>(sum));
    }
  tw_gemm_desc desc;
  TW_REQUIRE_CALL(tw_gemm_desc_init(&desc, sizeof desc));
  desc.d_dtype = TW_DTYPE_F32;
  desc.m = m, desc.n = n, desc.k = depth;
  tw_gemm_args args;
  TW_REQUIRE_CALL(tw_gemm_args_init(&args, sizeof args));
  args.a = input(a_bits.data(), a_bits.size() * 2);
  args.b = input(b_bits.data(), b_bits.size() * 2);
  args.d = job.out = output(job.expected.size());
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_gemm_plan(device_, &desc, &plan));
  job.name = "gemm";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_gemm_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

void PlanSet::add_ragged(int k) {
  const int64_t batch = 20 + k, rows = 9, columns = 64 + 8 * (k % 4);
  std::vector<int32_t> offsets{0};
  for (int64_t b = 0; b < batch; ++b)
    offsets.push_back(offsets.back() + static_cast<int32_t>((b * 5 + k) % (rows + 3)));
  const int64_t tokens = offsets.back();
  const std::vector<uint16_t> in = random_u16(static_cast<size_t>(tokens * columns), 400u + k);
  Job job;
  job.expected.assign(static_cast<size_t>(batch * rows * columns) * 2, 0);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t token = offsets[static_cast<size_t>(b)] + r;
      if (token >= offsets[static_cast<size_t>(b) + 1]) continue;
      for (int64_t j = 0; j < columns; ++j)
        put(&job.expected, (b * rows + r) * columns + j,
            in[static_cast<size_t>(token * columns + j)]);
    }
  tw_ragged_desc desc;
  TW_REQUIRE_CALL(tw_ragged_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U16;
  desc.batch = batch, desc.tokens = tokens, desc.rows = rows, desc.columns = columns;
  tw_ragged_args args;
  TW_REQUIRE_CALL(tw_ragged_args_init(&args, sizeof args));
  args.packed = input(in.data(), in.size() * 2);
  args.offsets = input(offsets.data(), offsets.size() * 4);
  args.padded = job.out = output(job.expected.size());
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_ragged_plan(device_, &desc, &plan));
  job.name = "ragged";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_ragged_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

void PlanSet::add_copies(int k) {
  const int64_t count = 30 + k, elements = 500 + 9 * k;
  const std::vector<uint16_t> in = random_u16(static_cast<size_t>(count * elements), 500u + k);
  Job job;
  job.expected.assign(static_cast<size_t>(count * elements) * 2, kPoison);
  const uint64_t src = input(in.data(), in.size() * 2);
  job.out = output(job.expected.size());
  std::vector<uint64_t> from, to;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t target = count - 1 - i;
    from.push_back(src + static_cast<uint64_t>(i * elements) * 2);
    to.push_back(job.out + static_cast<uint64_t>(target * elements) * 2);
    for (int64_t j = 0; j < elements; ++j)
      put(&job.expected, target * elements + j, in[static_cast<size_t>(i * elements + j)]);
  }
  tw_copies_desc desc;
  TW_REQUIRE_CALL(tw_copies_desc_init(&desc, sizeof desc));
  desc.dtype = TW_DTYPE_U16;
  desc.rank = 1;
  desc.shape[0] = elements;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.count = count;
  tw_copies_args args;
  TW_REQUIRE_CALL(tw_copies_args_init(&args, sizeof args));
  args.src = input(from.data(), from.size() * 8);
  args.dst = input(to.data(), to.size() * 8);
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_copies_plan(device_, &desc, &plan));
  job.name = "copies";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_copies_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

// Routes given ids; some belong to no expert. Expects the order of the others by expert.
void PlanSet::add_route(int k) {
  const int64_t tokens = 100 + k, experts = 17;
  const std::vector<uint16_t> drawn = random_u16(static_cast<size_t>(tokens * 2), 600u + k);
  std::vector<int32_t> ids(drawn.size()), order(drawn.size(), -1);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = drawn[i] % (experts + 1);
  size_t place = 0;
  for (int32_t expert = 0; expert < experts; ++expert)
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == expert) order[place++] = static_cast<int32_t>(i);
  Job job;
  job.expected.resize(order.size() * 4);
  std::memcpy(job.expected.data(), order.data(), job.expected.size());
  tw_route_desc desc;
  TW_REQUIRE_CALL(tw_route_desc_init(&desc, sizeof desc));
  desc.flags = TW_ROUTE_GIVEN_IDS;
  desc.tokens = tokens, desc.experts = experts, desc.top_k = 2;
  tw_route_args args;
  TW_REQUIRE_CALL(tw_route_args_init(&args, sizeof args));
  args.given_ids = input(ids.data(), ids.size() * 4);
  args.order = job.out = output(job.expected.size());
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_route_plan(device_, &desc, &plan));
  job.name = "route";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_route_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

// A has powers of two, and each column of a weight matrix has a single 1, so bf16 holds D exactly.
void PlanSet::add_grouped(int k) {
  const int64_t m = 40 + k, width = 16, groups = 3;
  const int32_t ends[3] = {static_cast<int32_t>(m / 3), static_cast<int32_t>(m / 2),
                           static_cast<int32_t>(m)};
  std::vector<uint16_t> a(size_t(m * width)), b(size_t(groups * width * width), 0), d(a.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint16_t>(0x3f80 + i * 7 % 5 * 0x80);
  for (int64_t g = 0; g < groups; ++g)  // column c is column c + g of A
    for (int64_t c = 0; c < width; ++c)
      b[size_t((g * width + (c + g) % width) * width + c)] = 0x3f80;
  for (int64_t r = 0; r < m; ++r) {
    const int64_t g = r < ends[0] ? 0 : r < ends[1] ? 1 : 2;
    for (int64_t c = 0; c < width; ++c)
      d[size_t(r * width + c)] = a[size_t(r * width + (c + g) % width)];
  }
  Job job;
  job.expected.resize(d.size() * 2);
  std::memcpy(job.expected.data(), d.data(), job.expected.size());
  tw_grouped_desc desc;
  TW_REQUIRE_CALL(tw_grouped_desc_init(&desc, sizeof desc));
  desc.m = m, desc.n = desc.k = width, desc.group_count = groups;
  tw_grouped_args args;
  TW_REQUIRE_CALL(tw_grouped_args_init(&args, sizeof args));
  args.a = input(a.data(), a.size() * 2);
  args.b = input(b.data(), b.size() * 2);
  args.groups = input(ends, sizeof ends);
  args.d = job.out = output(job.expected.size());
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_grouped_plan(device_, &desc, &plan));
  job.name = "grouped";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_grouped_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

// Each row has 448 times a power of two once, and that power elsewhere. So its scale is the power.
void PlanSet::add_quantize(int k) {
  const int64_t rows = 20 + k, columns = 136;
  std::vector<uint16_t> src(size_t(rows * columns));
  Job job;
  job.expected.resize(src.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const auto at = size_t(r * columns + c);
      const bool top = c == r % 100;
      const auto power = static_cast<uint16_t>(0x80 * (r % 5));
      // 448 and 1 in bf16, and in e4m3.
      src[at] = static_cast<uint16_t>((top ? 0x43e0 : 0x3f80) + power);
      job.expected[at] = top ? 0x7e : 0x38;
    }
  tw_quantize_desc desc;
  TW_REQUIRE_CALL(tw_quantize_desc_init(&desc, sizeof desc));
  desc.src_dtype = TW_DTYPE_BF16, desc.dst_dtype = TW_DTYPE_F8E4M3;
  desc.scale = TW_SCALE_ROW;
  desc.rows = rows, desc.columns = columns;
  tw_quantize_args args;
  TW_REQUIRE_CALL(tw_quantize_args_init(&args, sizeof args));
  args.src = input(src.data(), src.size() * 2);
  args.dst = job.out = output(job.expected.size());
  args.scale = output(size_t(rows) * 4);
  tw_plan* plan = nullptr;
  TW_REQUIRE_CALL(tw_quantize_plan(device_, &desc, &plan));
  job.name = "quantize";
  job.plan.reset(plan);
  job.run = [args](tw_plan* p, tw_stream* s) { return tw_quantize_run(p, s, &args); };
  jobs_.push_back(std::move(job));
}

void PlanSet::add(int k) {
  switch (k % 10) {
    case 0:
      return add_copy(k, false);
    case 1:
      return add_gemm(k);
    case 2:
      return add_rows(k, false);
    case 3:
      return add_copy(k, true);
    case 4:
      return add_rows(k, true);
    case 5:
      return add_ragged(k);
    case 6:
      return add_route(k);
    case 7:
      return add_grouped(k);
    case 8:
      return add_quantize(k);
    default:
      return add_copies(k);
  }
}

}  // namespace tw::test
