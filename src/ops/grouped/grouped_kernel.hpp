// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the kernels of a grouped product and computes their launch configurations.

#include <vector>

#include "ops/grouped/grouped_cost.hpp"
#include "ops/grouped/grouped_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The device's wgmma kernel for a product; nullptr if none supports it.
const KernelEntry* grouped_wgmma_entry(const Device& device, const GroupedProblem& problem);

/// The device's kernels for a product: first the one that a plan chooses.
std::vector<GroupedCandidate> grouped_candidates(const Device& device,
                                                 const GroupedProblem& problem);

/// The error for a candidate that is unknown or that the device or the description rules out.
Status no_grouped_candidate(const Device& device, const GroupedProblem& problem);

/// Whether the description promises addresses of A and B that tensor maps can have.
bool grouped_promises_alignment(const GroupedProblem& problem);

/// The device's kernel for a product with any addresses; nullptr if none supports the description.
const KernelEntry* grouped_product_entry(const Device& device, const GroupedProblem& problem);

/// The launch of a product of m rows. Each block of the grid processes tiles until none are left.
LaunchConfig grouped_product_config(const Device& device, const GroupedProblem& problem,
                                    const PreparedKernel& kernel, int64_t m);

/// The launch of a step with at least `threads` threads, but at most four blocks per SM.
LaunchConfig grouped_step_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t threads);

/// The launch of kGroupedFind: one cluster, which has more blocks the more rows there are.
LaunchConfig grouped_find_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& entry, int64_t rows);

}  // namespace tw
