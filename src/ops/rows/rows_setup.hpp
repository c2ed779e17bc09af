// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by all parts of a plan for rows: the checked description, the sizes of the pipelines, and
// the prepared kernels.

#include <cstdint>

#include "kernels/gather/gather.h"
#include "kernels/rows/row_steps.h"
#include "kernels/scatter/scatter.h"
#include "ops/common/rows_ring.hpp"
#include "ops/plan/plan.hpp"
#include "ops/rows/rows_problem.hpp"

namespace tw {

namespace rows {
/// Smallest part, in bytes, into which a longer row is cut so that every warp gets some.
inline constexpr int64_t kMinPart = 512;
}  // namespace rows

/// Sizes of the pipelines, and after how many stages a block ends.
struct RowsTuning {
  uint32_t warps = 2;
  uint32_t blocks = 2;  // per SM
  uint32_t stages = 4;
  uint32_t stage_bytes = 2048;
  uint32_t warp_items = 2;   // stages per warp, after which its block ends
  uint32_t plain_warps = 1;  // warps per block of kRowsPlain
};

/// The arguments of any kernel of a run. All structs but FewArgs begin with RowsArgs.
struct RowsLaunch {
  union {
    RowsArgs rows;
    SortedArgs sorted;
    OrderArgs order;
    MarginArgs margin;
    OutsideArgs outside;
    FourArgs four;
    FewArgs few;
  };
  uint32_t bytes = sizeof(RowsArgs);
  RowsLaunch() : rows{} {}
};

/// Immutable after the plan is made.
struct RowsSetup {
  static constexpr uint32_t kVariants = 32;

  /// `run_device` must outlive the object.
  RowsSetup(Device& run_device, Op operation, const RowsProblem& checked);
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  Status launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                const RowsLaunch& launch) const;

  bool empty() const { return problem.desc.count == 0 || problem.row_bytes == 0; }
  /// Returns whether the data is so small that ordinary loads beat bulk copies.
  bool is_small() const;
  /// The address of the first byte that is moved, in the packed operand and in the table: the first
  /// column of the window that is inside the table.
  uint64_t first_moved_in_packed(uint64_t packed) const;
  uint64_t first_moved_in_table(uint64_t table) const;
  /// The width in bytes of ordinary accesses, and of units for arithmetic, for operands at these
  /// addresses.
  uint32_t plain_unit(uint64_t table, uint64_t packed) const;
  uint32_t number_unit(uint64_t table, uint64_t packed) const;

  Device& device;
  Op op;
  RowsProblem problem;
  RowsTuning tuning;
  PipelineSize pipeline;
  uint32_t max_pieces = 0;            // pieces per stage, at most
  PreparedKernel kernels[kVariants];  // index: KernelEntry::variant
  KernelMap four_map{};               // the table with address 0

 private:
  RowsTuning make_tuning() const;
  uint32_t max_stage_pieces() const;
};

}  // namespace tw
