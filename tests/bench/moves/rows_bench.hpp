// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the row benchmarks share: cases, their indices, their operands.

#include <string>
#include <vector>

#include "ops/rows/rows.hpp"
#include "tests/bench/common/gpu_bench.hpp"

namespace tw::bench {

enum class Order { random, sorted, identity };
const char* order_name(Order order);

struct RowsCase {
  Op op;
  int64_t row_bytes;
  int64_t count;  // of packed rows
  int64_t table_rows;
  Order order = Order::random;
  int64_t extra_pitch = 0;  // bytes between the table's rows
  int64_t past = 0;         // bytes by which the table begins off a multiple of 256
  DType dtype = DType::U8;
  uint32_t reduction = kReduceNone;
  bool hot = false;  // every second index names one row
  bool weighted = false;
  int64_t group = 1;
  uint32_t flags = 0;
};

std::string case_name(const RowsCase& c);
RowsDesc case_desc(const RowsCase& c);

/// Distinct rows of the table: a fixed permutation's first, in its order or sorted; or 0, 1, 2, ...
std::vector<int32_t> distinct_rows(const RowsCase& c);

struct RowsOperands {
  uint64_t table, packed, index, flat;
  uint64_t weights = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
  uint64_t payload;
};
RowsOperands make_operands(GpuBench& bench, const RowsCase& c);
RowsRun run_of(const RowsOperands& o);

/// Runs the plan and holds a sample of rows against what they should be; ends the program where one
/// differs. Operands are random again afterwards. Of weighted rows and rows that sums meet in only
/// the shape is used: the device tests are about their values.
void check_sample(GpuBench& bench, const RowsPlan& plan, const RowsCase& c, const RowsOperands& o);

/// The contiguous copy of as many bytes, by the driver.
Variant contiguous_copy(GpuBench& bench, const RowsOperands& o);

/// Every configuration of the ring that fits, beside the other methods: what the planner's numbers
/// were chosen from.
void sweep_rows(GpuBench& bench, const Options& options);

}  // namespace tw::bench
