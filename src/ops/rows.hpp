// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gather and scatter of rows: from a description to a plan. One plan class serves both: they differ
// in which side is read.

#include <cstdint>
#include <memory>

#include "base/dtype.hpp"
#include "kernels/parts/rows.h"
#include "ops/plan.hpp"
#include "ops/rows_ring.hpp"

namespace tw {

/// As tw_rows_desc: extents and pitches in elements.
struct RowsDesc {
  DType dtype = DType::BF16;
  DType index_dtype = DType::I32;
  uint32_t table_alignment = 0;
  uint32_t packed_alignment = 0;
  uint32_t max_sms = 0;
  int64_t table_rows = 0;
  int64_t table_pitch = 0;
  int64_t column = 0;
  int64_t columns = 0;
  int64_t count = 0;
  int64_t packed_pitch = 0;
  /// For tests and benchmarks: bits 1 << method of the methods that may be chosen, and the sizes of
  /// the shared-memory rings, 0 being the library's choice.
  uint32_t methods = ~0u;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warps = 0;         // of a block
  uint32_t blocks = 0;        // of an SM
  uint32_t stage_pieces = 0;  // at most
};

/// As tw_rows_args.
struct RowsRun {
  uint64_t table = 0;
  uint64_t index = 0;
  uint64_t packed = 0;
  int64_t count = -1;
};

/// The checked description in bytes, pitches filled in.
struct RowsProblem {
  RowsDesc desc;
  int32_t element_bytes = 1;
  int32_t index_bytes = 4;
  int64_t row_bytes = 0;
  int64_t column_bytes = 0;
  int64_t table_pitch = 0;   // bytes
  int64_t packed_pitch = 0;  // bytes
  int64_t table_bytes = 0;   // from the first element of row 0 to the last window's end
  int64_t packed_bytes = 0;  // likewise, for the described count
};
Status rows_problem(const RowsDesc& desc, RowsProblem* out);

class RowsPlan final : public Plan {
 public:
  /// `op` is gather or scatter.
  static Status create(const std::shared_ptr<Device>& device, Op op, const RowsDesc& desc,
                       std::unique_ptr<Plan>* out);
  Status run(Stream& stream, const RowsRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  RowsPlan(std::shared_ptr<Device> device, Op op, const RowsProblem& problem)
      : Plan(std::move(device), op), problem_(problem) {}
  Status prepare();
  bool empty() const { return problem_.desc.count == 0 || problem_.row_bytes == 0; }
  /// Whether every row begins and ends at multiples of 16 bytes; addresses of whole operands.
  bool bulk_fits(uint64_t table, uint64_t packed) const;
  const PreparedKernel& choose(uint64_t table, uint64_t packed) const;
  void fill_bulk(RowsArgs* args) const;
  uint32_t plain_unit(uint64_t table, uint64_t packed) const;
  void fill_shift(RowsArgs* args) const;
  void fill_narrow(uint64_t table, uint64_t packed, RowsArgs* args) const;
  void fill_plain(uint64_t table, uint64_t packed, RowsArgs* args) const;
  /// Everything but the addresses, for the kernel that these addresses lead to.
  void fill(const PreparedKernel& kernel, uint64_t table, uint64_t packed, RowsArgs* args) const;
  LaunchConfig config(const PreparedKernel& kernel, const RowsArgs& args) const;
  Status check_run(const RowsRun& run, int64_t count) const;

  RowsProblem problem_;
  RingSize ring_;
  PreparedKernel bulk_;    // rows whose ends are multiples of 16 bytes
  PreparedKernel shift_;   // long rows, realigned in registers
  PreparedKernel narrow_;  // short rows, a tile of them by a warp
  PreparedKernel plain_;   // all rows
  RowsArgs args_{};        // what every run shares
};

}  // namespace tw
