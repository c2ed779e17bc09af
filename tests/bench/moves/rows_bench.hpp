// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the row benchmarks: cases, their indices and operands.

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
  int64_t past = 0;         // bytes by which the table's address is off a multiple of 256
  DType dtype = DType::U8;
  uint32_t reduction = kReduceNone;
  bool hot = false;  // half of the indices name the same row
  bool weighted = false;
  int64_t group = 1;
  uint32_t flags = 0;
};

std::string case_name(const RowsCase& c);
RowsDesc case_desc(const RowsCase& c);

/// Indices of the case: distinct rows from a fixed permutation, in its order or sorted, or 0, 1, 2,
/// ...; in a hot case half of them are replaced by one row.
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

/// Runs the plan and checks a sample of rows; ends the program if one is wrong. Fills the operands
/// with random bytes afterwards. Does nothing for weighted rows, groups and hot cases, whose values
/// the device tests check.
void check_sample(GpuBench& bench, const RowsPlan& plan, const RowsCase& c, const RowsOperands& o);

Variant contiguous_copy(GpuBench& bench, const RowsOperands& o);

/// Times every pipeline configuration that fits, and the other methods. The planner's constants
/// come from these results.
void sweep_rows(GpuBench& bench, const Options& options);

}  // namespace tw::bench
