// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the row benchmarks share: cases, their indices, their operands.

#include <string>
#include <vector>

#include "gpu_bench.hpp"
#include "ops/rows.hpp"

namespace tw::bench {

enum class Order { random, sorted, identity };
const char* order_name(Order order);

struct RowsCase {
  Op op;
  int64_t row_bytes;
  int64_t count;
  int64_t table_rows;
  Order order = Order::random;
  int64_t extra_pitch = 0;  // bytes between the table's rows
};

std::string case_name(const RowsCase& c);
RowsDesc case_desc(const RowsCase& c);

/// Distinct rows of the table: a fixed permutation's first, in its order or sorted; or 0, 1, 2, ...
std::vector<int32_t> distinct_rows(const RowsCase& c);

struct RowsOperands {
  uint64_t table, packed, index, flat;
  uint64_t payload;
};
RowsOperands make_operands(GpuBench& bench, const RowsCase& c);

/// The contiguous copy of as many bytes, by the driver.
Variant contiguous_copy(GpuBench& bench, const RowsOperands& o);

/// Every configuration of the ring that fits, beside the other methods: what the planner's numbers
/// were chosen from.
void sweep_rows(GpuBench& bench, const Options& options);

}  // namespace tw::bench
