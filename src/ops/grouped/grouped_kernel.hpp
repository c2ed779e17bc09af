// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which kernel multiplies the groups of a description, and how it is launched.

#include <vector>

#include "ops/grouped/grouped_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The wgmma kernel of the device for a product; nullptr if none takes it.
const KernelEntry* grouped_wgmma_row(const Device& device, const GroupedProblem& problem);

/// The kernels that the device has for a product, the best first.
std::vector<const KernelEntry*> grouped_candidates(const Device& device,
                                                   const GroupedProblem& problem);

/// The failure if the description's candidate is not a kernel that the device has for the product.
Status no_grouped_candidate(const Device& device, const GroupedProblem& problem);

/// Whether the addresses of A and B are promised to suit tensor maps.
bool grouped_promises_maps(const GroupedProblem& problem);

/// The device's kernel for a product with any addresses; nullptr if none takes the description.
const KernelEntry* grouped_product_row(const Device& device, const GroupedProblem& problem);

/// The launch of a product of m rows: blocks take tiles in turn until there are no more.
LaunchConfig grouped_product_config(const Device& device, const GroupedProblem& problem,
                                    const PreparedKernel& kernel, int64_t m);

/// The launch of a kernel that runs before or after the product, with one thread for each of
/// `things` items.
LaunchConfig grouped_step_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& row, int64_t things);

/// The launch of kGroupedFind: one cluster, which has several blocks if there are many rows.
LaunchConfig grouped_find_config(const Device& device, const GroupedProblem& problem,
                                 const KernelEntry& row, int64_t rows);

}  // namespace tw
