// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for routing tokens to experts.

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/route/route.h"
#include "ops/plan/plan.hpp"
#include "ops/route/route_problem.hpp"

namespace tw {

/// The fields of tw_route_args.
struct RouteRun {
  int64_t tokens = -1;
  uint64_t logits = 0;
  uint64_t bias = 0;
  uint64_t given_ids = 0;
  uint64_t given_weights = 0;
  uint64_t expert_map = 0;
  uint64_t ids = 0;
  uint64_t weights = 0;
  uint64_t counts = 0;
  uint64_t offsets = 0;
  uint64_t order = 0;
  uint64_t order_tokens = 0;
  uint64_t inverse = 0;
  uint64_t invalid_count = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
};

class RoutePlan final : public Plan {
 public:
  static Status create(const std::shared_ptr<Device>& device, const RouteDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// Checks a description as create() does, without choosing kernels.
  static Status check(const Device& device, const RouteDesc& desc);
  Status run(Stream& stream, const RouteRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  RoutePlan(std::shared_ptr<Device> device, const RouteProblem& problem)
      : Plan(std::move(device), Op::route), problem_(problem) {}
  Status prepare();
  Status prepare_variant(uint32_t variant, uint32_t dynamic_smem_bytes);
  /// Whether a run with `tokens` tokens is one launch of kRouteSmall, whose grid is one cluster.
  bool fits_cluster(int64_t tokens) const;
  uint32_t score_variant() const;
  uint64_t workspace_bytes() const;
  Status check_inputs(const RouteRun& run, int64_t tokens) const;
  Status check_outputs(const RouteRun& run) const;
  Status check_memory(const RouteRun& run, int64_t tokens) const;
  RouteArgs fill(const RouteRun& run, int64_t tokens) const;
  LaunchConfig cluster_config(int64_t tokens) const;
  LaunchConfig config(uint32_t variant, uint64_t blocks) const;
  Status launch(Stream& stream, uint32_t variant, const LaunchConfig& config,
                const RouteArgs& args) const;

  RouteProblem problem_;
  PreparedKernel kernels_[kRouteVariants];
};

}  // namespace tw
