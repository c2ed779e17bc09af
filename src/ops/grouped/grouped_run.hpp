// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of a grouped product: its arguments, their checks, and the arguments of its kernels.

#include <cstdint>

#include "kernels/grouped/grouped_scales.h"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// As tw_grouped_args.
struct GroupedRun {
  float alpha = 1.0f;
  float beta = 0.0f;     // of k_ranges: 0 or 1
  int64_t m = -1;        // rows; -1: the plan's
  int64_t k = -1;        // of k_ranges: rows of A and B; -1: the plan's
  int64_t a_count = -1;  // rows of A where they are gathered; -1: the plan's
  int64_t d_count = -1;  // rows of D where they are scattered; -1: the plan's
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

/// Parts of a plan's workspace, as offsets, where it has them.
struct GroupedParts {
  uint64_t found = 0;     // a begin and an end for each group
  uint64_t rows = 0;      // rows of the result that are added afterwards
  int64_t row_pitch = 0;  // elements between them
  uint64_t heads = 0;     // of the lists of rows that are added to each row of D
  uint64_t links = 0;
  uint64_t required = 0;  // bytes that runs need; the parts after them only serve speed
  uint64_t shared = 0;    // partial accumulators of tiles that several blocks share along k
  uint64_t packed = 0;    // gathered rows of A, side by side
  bool packs = false;     // whether the workspace has room for `packed`
  uint64_t bytes = 0;
};
/// The workspace that a plan's product can use: bytes for tiles that are divided along k, whether
/// runs require them, and bytes for gathered rows.
struct GroupedRoom {
  uint64_t shared = 0;
  bool required = false;
  uint64_t packed = 0;
};
GroupedParts grouped_parts(const GroupedProblem& problem, const GroupedRoom& room);

/// The sizes of a run, and which kernels it launches.
struct GroupedSizes {
  int64_t m = 0, k = 0;
  int64_t a_rows = 0, d_rows = 0;  // of the caller's operands
  int64_t a_count = 0, d_count = 0;
  bool multiplies = false;  // some row may be multiplied
  bool checks = false;      // faults are counted
  bool finds = false;       // kGroupedFind computes the rows of each group
  bool clears = false;      // D becomes zero first
};

/// Fills in the sizes of a run. Fails if an argument is wrong; the message names it.
Status check_grouped_run(const Device& device, const GroupedProblem& problem,
                         const GroupedParts& parts, const GroupedRun& run, GroupedSizes* sizes);

/// The scales, which kernels of 8-bit types get in addition.
GemmScales grouped_scales(const GroupedProblem& problem, const GroupedRun& run);

/// The arguments that all kernels of the run share, as the product needs them.
GroupedArgs grouped_args(const GroupedProblem& problem, const GroupedParts& parts,
                         const GroupedRun& run, const GroupedSizes& sizes);

}  // namespace tw
