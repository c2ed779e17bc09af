// SPDX-License-Identifier: Apache-2.0
#include "rows_bench.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>

namespace tw::bench {
namespace {

// A permutation of the numbers below a power of two: each step can be undone.
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
  return std::string(family_name(c.op)) + " " + std::to_string(c.count) + " x " +
         std::to_string(c.row_bytes) + " B " + order_name(c.order) +
         (c.extra_pitch ? " pitch +" + std::to_string(c.extra_pitch) : "");
}

RowsDesc case_desc(const RowsCase& c) {
  RowsDesc desc;
  desc.dtype = DType::U8;
  desc.columns = c.row_bytes;
  desc.table_rows = c.table_rows;
  desc.table_pitch = c.row_bytes + c.extra_pitch;
  desc.count = c.count;
  return desc;
}

std::vector<int32_t> distinct_rows(const RowsCase& c) {
  std::vector<int32_t> rows(static_cast<size_t>(c.count));
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
  return rows;
}

RowsOperands make_operands(GpuBench& bench, const RowsCase& c) {
  RowsOperands o;
  o.payload = static_cast<uint64_t>(c.count * c.row_bytes);
  o.table = bench.allocate(static_cast<uint64_t>(c.table_rows * (c.row_bytes + c.extra_pitch)));
  o.packed = bench.allocate(o.payload);
  o.flat = bench.allocate(o.payload);
  const std::vector<int32_t> rows = distinct_rows(c);
  o.index = bench.allocate(rows.size() * 4);
  bench.upload(o.index, rows.data(), rows.size() * 4);
  return o;
}

Variant contiguous_copy(GpuBench& bench, const RowsOperands& o) {
  return {"cuMemcpyAsync", [&bench, o] {
            require(bench.driver().cuMemcpyDtoDAsync_(o.flat, o.packed, o.payload,
                                                      bench.cuda_stream()) == CUDA_SUCCESS,
                    "cuMemcpyDtoDAsync");
          }};
}

}  // namespace tw::bench
