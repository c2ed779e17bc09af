// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of a grouped product: the caller's arguments, their checks, the workspace and the kernels'
// arguments.

#include <cstdint>

#include "kernels/grouped/grouped_scales.h"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// tw_grouped_args.
struct GroupedRun {
  float alpha = 1.0f;
  float beta = 0.0f;     // of k_ranges: 0 or 1
  int64_t m = -1;        // rows; -1: the plan's
  int64_t k = -1;        // of k_ranges: rows of A and B; -1: the plan's
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
  uint64_t faults = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
  uint64_t a_scale = 0, b_scale = 0;
};

inline constexpr uint32_t kGroupedWorkspaceAlignment = 256;

/// Byte offsets of the parts of a plan's workspace.
struct GroupedParts {
  uint64_t found = 0;     // begin and end of each group
  uint64_t rows = 0;      // rows of the result that are added afterwards
  int64_t row_pitch = 0;  // elements from one of these to the next
  uint64_t heads = 0;     // for each row of D, head of the list of rows that are added to it
  uint64_t links = 0;     // the next row in such a list
  uint64_t required = 0;  // size that every run needs; the parts behind it only save time
  uint64_t shared = 0;    // counters and partial accumulators of stream-K
  uint64_t packed = 0;    // copy of the gathered rows of A
  bool packs = false;     // whether the workspace has room for that copy
  uint64_t bytes = 0;     // size of the whole workspace
};
/// What the wgmma kernels need of the workspace, in bytes.
struct GroupedRoom {
  uint64_t shared = 0;    // for stream-K
  bool required = false;  // whether runs cannot do without `shared`
  uint64_t packed = 0;    // for the copy of gathered rows
};
GroupedParts grouped_parts(const GroupedProblem& problem, const GroupedRoom& room);

/// Sizes of a run, and the steps it needs.
struct GroupedSizes {
  int64_t m = 0, k = 0;
  int64_t a_rows = 0, d_rows = 0;  // of the caller's operands
  int64_t a_count = 0, d_count = 0;
  bool multiplies = false;  // groups may have rows to multiply
  bool checks = false;      // count faults
  bool finds = false;       // find the rows of each group
  bool clears = false;      // set D to zero first
};

/// Checks the arguments of a run and fills in its sizes. Errors name the argument.
Status check_grouped_run(const Device& device, const GroupedProblem& problem,
                         const GroupedParts& parts, const GroupedRun& run, GroupedSizes* sizes);

/// The scale arguments of kernels for 8-bit types.
GemmScales grouped_scales(const GroupedProblem& problem, const GroupedRun& run);

/// The arguments that all kernels of the run share.
GroupedArgs grouped_args(const GroupedProblem& problem, const GroupedParts& parts,
                         const GroupedRun& run, const GroupedSizes& sizes);

}  // namespace tw
