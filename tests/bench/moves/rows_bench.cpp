// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/moves/rows_bench.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace tw::bench {
namespace {

// A permutation of the numbers up to `mask`, a power of two minus 1: each step is invertible.
uint64_t permuted(uint64_t x, uint64_t mask) {
  const int half = std::max(1, std::popcount(mask) / 2);
  for (int round = 0; round < 3; ++round) {
    x = x * 0x9E3779B97F4A7C15ull & mask;
    x ^= x >> half;
  }
  return x * 0xBF58476D1CE4E5B9ull & mask;
}

}  // namespace

const char* order_name(Order order) {
  constexpr const char* kNames[] = {"random", "sorted", "identity"};
  return kNames[static_cast<int>(order)];
}

std::string case_name(const RowsCase& c) {
  std::string name;
  if (c.weighted) name += "weighted ";
  if (c.reduction == kReduceAdd || c.weighted)
    name += std::string(c.reduction == kReduceAdd ? "add " : "") + dtype_name(c.dtype) + " ";
  name += std::string(family_name(c.op)) + " " + std::to_string(c.count) + " x " +
          std::to_string(c.row_bytes) + " B " + order_name(c.order);
  if (c.extra_pitch) name += " pitch +" + std::to_string(c.extra_pitch);
  if (c.past) name += " at +" + std::to_string(c.past);
  if (c.group > 1) name += " sums of " + std::to_string(c.group);
  if (c.hot) name += " half of them one row";
  if ((c.flags & kRowsDeterministic) != 0) name += " deterministic";
  if ((c.flags & kRowsLastWins) != 0) name += " last wins";
  return name;
}

RowsDesc case_desc(const RowsCase& c) {
  RowsDesc desc;
  desc.dtype = c.dtype;
  desc.columns = c.row_bytes / dtype_bytes(c.dtype);
  desc.table_rows = c.table_rows;
  desc.table_pitch = (c.row_bytes + c.extra_pitch) / dtype_bytes(c.dtype);
  desc.count = c.count;
  desc.group = c.group;
  desc.reduction = static_cast<int32_t>(c.reduction);
  desc.flags = c.flags | (c.weighted ? kRowsWeighted : 0u);
  return desc;
}

std::vector<int32_t> distinct_rows(const RowsCase& c) {
  std::vector<int32_t> rows(static_cast<size_t>(c.count * c.group));
  std::iota(rows.begin(), rows.end(), 0);
  if (c.order == Order::identity) return rows;
  const auto limit = static_cast<uint64_t>(c.table_rows);
  const uint64_t mask = std::bit_ceil(limit) - 1;
  uint64_t next = 0;
  for (int32_t& row : rows) {
    uint64_t value = 0;
    do value = permuted(next++, mask);
    while (value >= limit);
    row = static_cast<int32_t>(value);
  }
  if (c.order == Order::sorted) std::sort(rows.begin(), rows.end());
  for (size_t i = 0; c.hot && i < rows.size(); i += 2) rows[i] = 12345;
  return rows;
}

RowsOperands make_operands(GpuBench& bench, const RowsCase& c) {
  RowsOperands o;
  o.payload = static_cast<uint64_t>(c.count * c.row_bytes);
  o.table =
      bench.allocate(static_cast<uint64_t>(c.table_rows * (c.row_bytes + c.extra_pitch) + c.past)) +
      static_cast<uint64_t>(c.past);
  o.packed = bench.allocate(o.payload);
  o.flat = bench.allocate(o.payload);
  const std::vector<int32_t> rows = distinct_rows(c);
  o.index = bench.allocate(rows.size() * 4);
  bench.upload(o.index, rows.data(), rows.size() * 4);
  if (c.weighted) o.weights = bench.allocate(rows.size() * 4);
  std::unique_ptr<Plan> plan;
  require(RowsPlan::create(bench.device(), c.op, case_desc(c), &plan));
  o.workspace_bytes = plan->info().workspace_bytes;
  if (o.workspace_bytes != 0) o.workspace = bench.allocate(o.workspace_bytes);
  return o;
}

RowsRun run_of(const RowsOperands& o) {
  return {.table = o.table,
          .index = o.index,
          .packed = o.packed,
          .weights = o.weights,
          .workspace = o.workspace,
          .workspace_bytes = o.workspace_bytes};
}

void check_sample(GpuBench& bench, const RowsPlan& plan, const RowsCase& c, const RowsOperands& o) {
  if (c.weighted || c.hot || c.group > 1) return;
  const std::vector<int32_t> rows = distinct_rows(c);
  const auto bytes = static_cast<size_t>(c.row_bytes);
  const auto pitch = static_cast<uint64_t>(c.row_bytes + c.extra_pitch);
  const auto payload = o.payload;
  // Added to zeros, the packed rows must arrive unchanged.
  if (c.reduction != kReduceNone) {
    require(bench.stream().fill(o.table, 0, static_cast<uint64_t>(c.table_rows) * pitch));
    require(bench.stream().fill(o.packed, 0x3c, payload));
  }
  require(plan.run(bench.stream(), run_of(o)));
  std::vector<uint8_t> in_table(bytes);
  std::vector<uint8_t> in_packed(bytes);
  for (int64_t sample = 0; sample < 64; ++sample) {
    const int64_t i = sample * (c.count - 1) / 63;
    const auto row = static_cast<uint64_t>(rows[static_cast<size_t>(i)]);
    require(bench.stream().copy_to_host(in_table.data(), o.table + row * pitch, bytes));
    require(bench.stream().copy_to_host(in_packed.data(),
                                        o.packed + static_cast<uint64_t>(i) * bytes, bytes));
    require(bench.stream().synchronize());
    require(in_table == in_packed, "the check of the case");
  }
  bench.scramble(o.table - static_cast<uint64_t>(c.past),
                 static_cast<uint64_t>(c.table_rows) * pitch);
  bench.scramble(o.packed, payload);
}

Variant contiguous_copy(GpuBench& bench, const RowsOperands& o) {
  return {"cuMemcpyAsync", [&bench, o] {
            require(bench.driver().cuMemcpyDtoDAsync_(o.flat, o.packed, o.payload,
                                                      bench.cuda_stream()) == CUDA_SUCCESS,
                    "cuMemcpyDtoDAsync");
          }};
}

}  // namespace tw::bench
