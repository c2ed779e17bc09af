// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicts the times of grouped products with the cost model of GEMM.

#include <cstdint>

#include "kernels/table/kernel_table.hpp"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// The groups of a typical run: how many have rows, and how many rows each of these has. With
/// has_k_ranges() the rows are those of A and B.
struct GroupedTypicalRun {
  int64_t groups = 0, rows = 0;
};

/// Only device memory says which rows the groups of a run have. This function takes the number of
/// rows from expected_rows. Without this hint it divides the rows of the plan evenly.
GroupedTypicalRun grouped_typical_run(const GroupedProblem& problem);

/// A product kernel of a description, with its predicted time.
struct GroupedCandidate {
  const KernelEntry* entry = nullptr;
  double nanoseconds = 0;  // of a typical run, see grouped_candidate()
  double waves = 0;        // tiles divided by the number of blocks that run at once
};

/// Predicts the time of a product with groups of equal sizes, as grouped_typical_run() gives them.
/// It includes the copy of gathered rows, and no step that runs with every kernel.
GroupedCandidate grouped_candidate(const Device& device, const GroupedProblem& problem,
                                   const KernelEntry& entry);

}  // namespace tw
