// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all parts of a plan of rows work by: the checked description, how the rings are laid out,
// and the kernels that are ready.

#include <cstdint>

#include "kernels/gather/gather.h"
#include "kernels/rows/row_steps.h"
#include "kernels/scatter/scatter.h"
#include "ops/common/rows_ring.hpp"
#include "ops/plan/plan.hpp"
#include "ops/rows/rows_problem.hpp"

namespace tw {

/// How the rings are laid out, and how long blocks live.
struct RowsTuning {
  uint32_t warps = 2;
  uint32_t blocks = 2;  // of an SM
  uint32_t stages = 4;
  uint32_t stage_bytes = 2048;
  uint32_t warp_items = 2;   // stages of a warp, after which its block ends
  uint32_t plain_warps = 1;  // of a block of plain rows
};

/// What a run's arguments become, whichever kernel takes them: RowsArgs comes first in each.
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

/// Never changed once the plan is made.
struct RowsSetup {
  static constexpr uint32_t kVariants = 32;

  /// `on` must outlive it, as the device of a plan does.
  RowsSetup(Device& on, Op what, const RowsProblem& checked);
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  Status launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                const RowsLaunch& launch) const;

  bool empty() const { return problem.desc.count == 0 || problem.row_bytes == 0; }
  /// Whether plain loads are done before bulk copies are under way.
  bool is_small() const;
  /// Where the packed operand's columns that the table has begin, and where they do in the table.
  uint64_t inner_packed(uint64_t packed) const;
  uint64_t inner_table(uint64_t table) const;
  /// What plain loads and stores, and arithmetic, move at once between rows of such operands.
  uint32_t plain_unit(uint64_t table, uint64_t packed) const;
  uint32_t number_unit(uint64_t table, uint64_t packed) const;

  Device& device;
  Op op;
  RowsProblem problem;
  RowsTuning tuning;
  RingSize ring;
  uint32_t ring_pieces = 0;           // of a stage, at most
  PreparedKernel kernels[kVariants];  // by KernelRow::variant
  KernelMap four_map{};               // of the table at address 0

 private:
  RowsTuning make_tuning() const;
  uint32_t most_stage_pieces() const;
};

}  // namespace tw
