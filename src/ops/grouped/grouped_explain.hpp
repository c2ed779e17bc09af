// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of tw_plan_explain() for a grouped product. Each text consists of whole lines.

#include <string>

#include "kernels/table/kernel_table.hpp"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// What the product computes.
std::string grouped_problem_text(const GroupedProblem& problem);

/// The predicted times of the plan's kernel and of the next best one.
std::string grouped_times_text(const Device& device, const GroupedProblem& problem,
                               const KernelEntry& chosen);

}  // namespace tw
