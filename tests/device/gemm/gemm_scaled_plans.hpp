// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of scaled GEMMs, by choice of the library or for each candidate, with their workspace.

#include <functional>

#include "tests/device/common/counts.hpp"
#include "tests/device/gemm/gemm_scaled_operands.hpp"

namespace tw::test {

inline constexpr std::pair<DType, DType> kNarrowPairs[] = {{DType::F8E4M3, DType::F8E4M3},
                                                           {DType::F8E4M3, DType::F8E5M2},
                                                           {DType::F8E5M2, DType::F8E4M3},
                                                           {DType::I8, DType::I8},
                                                           {DType::TF32, DType::TF32}};

/// Sets the kinds of scales: none, one per tensor, per row, per 1x128 with 128x128, or per 1x128.
inline void set_scales(int number, GemmDesc* d) {
  constexpr std::pair<ScaleKind, ScaleKind> kKinds[] = {{ScaleKind::none, ScaleKind::none},
                                                        {ScaleKind::tensor, ScaleKind::tensor},
                                                        {ScaleKind::row, ScaleKind::row},
                                                        {ScaleKind::row128, ScaleKind::block128},
                                                        {ScaleKind::row128, ScaleKind::row128}};
  d->a_scaling = {.kind = kKinds[number % 5].first};
  d->b_scaling = {.kind = kKinds[number % 5].second};
}

class ScaledPlan {
 public:
  ScaledPlan(const std::shared_ptr<Device>& device, Stream& stream, std::unique_ptr<Plan> plan)
      : stream_(stream),
        plan_(std::move(plan)),
        workspace_(device, stream, plan_->info().workspace_bytes) {}
  const Plan& plan() const { return *plan_; }

  /// Runs the plan with its workspace and waits for it.
  void run(GemmRun run) {
    if (workspace_.bytes() != 0) {
      run.workspace = workspace_.address();
      run.workspace_bytes = workspace_.bytes();
    }
    TW_REQUIRE_OK(static_cast<const GemmPlan&>(*plan_).run(stream_, run));
    TW_REQUIRE_OK(stream_.synchronize());
  }
  bool guards_intact() {
    workspace_.read();
    return workspace_.guards_intact();
  }

 private:
  Stream& stream_;
  std::unique_ptr<Plan> plan_;
  Guarded workspace_;
};

inline ScaledPlan own_plan(const std::shared_ptr<Device>& device, Stream& stream,
                           const GemmDesc& desc) {
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create(device, desc, &plan));
  return {device, stream, std::move(plan)};
}

/// Calls use(plan) for at most `most` candidates. `first` varies which, if there are more.
inline void each_candidate(const std::shared_ptr<Device>& device, Stream& stream,
                           const GemmDesc& desc, size_t most, size_t first,
                           const std::function<void(ScaledPlan&)>& use) {
  std::vector<GemmRange> candidates;
  TW_REQUIRE_OK(gemm_candidates(*device, desc, &candidates));
  const size_t step = std::max<size_t>(1, candidates.size() / most);
  for (size_t i = first % step; i < candidates.size(); i += step) {
    const GemmChoice& choice = candidates[i].candidate.choice;
    if (!is_chosen_kernel(choice.entry->symbol)) continue;
    INFO(gemm_choice_text(choice));
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create_forced(device, desc, choice, &plan));
    ScaledPlan forced(device, stream, std::move(plan));
    use(forced);
  }
}

}  // namespace tw::test
