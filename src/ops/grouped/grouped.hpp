// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products: from a description to a plan.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/grouped/grouped.h"
#include "ops/grouped/grouped_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// As tw_grouped_args.
struct GroupedRun {
  float alpha = 1.0f;
  float beta = 0.0f;  // of k_ranges: 0 or 1
  int64_t m = -1;     // rows; -1: the plan's
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
};

class GroupedPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const GroupedDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// What create() checks before it looks for kernels.
  static Status check(const Device& device, const GroupedDesc& desc);
  Status run(Stream& stream, const GroupedRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;
};

}  // namespace tw
