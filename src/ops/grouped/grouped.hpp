// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products: from a description to a plan.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/grouped/grouped.h"
#include "ops/grouped/grouped_cost.hpp"
#include "ops/grouped/grouped_problem.hpp"
#include "ops/grouped/grouped_run.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The kernels that a description may name as its candidate: first the one that a plan chooses.
Status grouped_candidates_of(const Device& device, const GroupedDesc& desc,
                             std::vector<GroupedCandidate>* out);

class GroupedPlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const GroupedDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// Checks the description as create() does, without choosing kernels.
  static Status check(const Device& device, const GroupedDesc& desc);
  Status run(Stream& stream, const GroupedRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  class Launches;
  GroupedPlan(std::shared_ptr<Device> device, const GroupedProblem& problem)
      : Plan(std::move(device), Op::grouped), problem_(problem) {}
  Status prepare();
  Status prepare_wgmma();
  bool uses_tensor_maps() const;
  Status check_tensor_map_alignment(const GroupedRun& run, const GroupedSizes& sizes) const;
  std::string explain_choice() const;
  Status prepare_step(uint32_t variant, PreparedKernel* out);
  const PreparedKernel& bind_product(const GroupedRun& run, GroupedArgs* product) const;
  // `address` is the workspace's.
  Status pack(Launches* launches, GroupedArgs* product, uint64_t address) const;
  Status clear_d(Launches* launches, const GroupedArgs& args, const GroupedSizes& sizes) const;
  Status combine(Launches* launches, const GroupedArgs& args, uint64_t address) const;

  GroupedProblem problem_;
  GroupedWorkspace workspace_;
  PreparedKernel product_;
  PreparedKernel fallback_;  // for addresses that tensor maps cannot have; empty if not needed
  GroupedArgs wgmma_{};      // arguments of the wgmma kernel that do not depend on the run
  PreparedKernel find_, check_, clear_, link_, combine_, pack_;
};

}  // namespace tw
