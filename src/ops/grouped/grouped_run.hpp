// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of a grouped product: the caller's arguments, their checks, the workspace and the kernels'
// arguments.

#include <cstdint>

#include "kernels/grouped/grouped_scales.h"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// The fields of tw_grouped_args.
struct GroupedRun {
  float alpha = 1.0f;
  float beta = 0.0f;     // 0; with k_ranges 0 or 1
  int64_t m = -1;        // rows; -1: the plan's
  int64_t k = -1;        // with k_ranges: rows of A and B; -1: the plan's
  int64_t a_count = -1;  // rows of a gathered A; -1: the plan's
  int64_t d_count = -1;  // rows of a scattered D; -1: the plan's
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t d = 0;
  uint64_t bias = 0;
  uint64_t groups = 0;
  uint64_t group_map = 0;
  uint64_t group_alpha = 0;
  uint64_t a_rows = 0;
  uint64_t d_rows = 0;
  uint64_t row_weights = 0;
  uint64_t inverse = 0;
  uint64_t invalid_count = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
  uint64_t a_scale = 0, b_scale = 0;
};

inline constexpr uint32_t kGroupedWorkspaceAlignment = 256;

/// Layout of a plan's workspace: byte offsets, except where a comment says otherwise.
struct GroupedWorkspace {
  uint64_t found_groups = 0;  // begin and end of each group
  uint64_t product_rows = 0;  // rows of the product, which kGroupedCombine adds up
  int64_t row_pitch = 0;      // elements from one row of product_rows to the next
  uint64_t heads = 0;         // for each row of D, head of the list of rows that are added to it
  uint64_t links = 0;         // for each row of the product, the next row of its list
  // Bytes that a run cannot do without; the others only save time. If this is 0, a run may give no
  // workspace. Otherwise it must give all `bytes`.
  uint64_t required = 0;
  uint64_t stream_k = 0;      // counters and partial accumulators of stream-K
  uint64_t packed_a = 0;      // copy of the gathered rows of A
  bool has_packed_a = false;  // whether the workspace has that copy
  uint64_t bytes = 0;         // size of the whole workspace
};
/// What the wgmma kernel needs in the workspace.
struct GroupedWgmmaWorkspace {
  uint64_t stream_k_bytes = 0;
  bool stream_k_required = false;  // whether every run needs these bytes
  uint64_t packed_a_bytes = 0;     // for the copy of gathered rows
};
GroupedWorkspace grouped_workspace(const GroupedProblem& problem,
                                   const GroupedWgmmaWorkspace& wgmma);

/// Sizes of a run, and which kernels it launches.
struct GroupedSizes {
  int64_t m = 0, k = 0;
  int64_t rows_of_a = 0, rows_of_d = 0;  // of the caller's operands
  int64_t a_count = 0, d_count = 0;
  bool multiplies = false;  // launches the product, because groups may have rows to multiply
  bool checks = false;      // launches kGroupedCheck, which counts invalid numbers
  bool finds = false;       // launches kGroupedFind, which finds each group's rows
  bool clears = false;      // first launches kGroupedClear, which zeroes D
};

/// Checks the arguments of a run and sets *sizes. Errors name the argument.
Status check_grouped_run(const Device& device, const GroupedProblem& problem,
                         const GroupedWorkspace& workspace, const GroupedRun& run,
                         GroupedSizes* sizes);

/// The scale arguments of kernels for 8-bit types.
GemmScales grouped_scales(const GroupedProblem& problem, const GroupedRun& run);

/// The arguments that all kernels of the run share.
GroupedArgs grouped_args(const GroupedProblem& problem, const GroupedWorkspace& workspace,
                         const GroupedRun& run, const GroupedSizes& sizes);

}  // namespace tw
