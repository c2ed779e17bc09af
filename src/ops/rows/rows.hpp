// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gather and scatter of rows: from a description to a plan. One plan class serves both: they differ
// in which side is read.
//
// A plan holds the methods that its runs may come to, best first, and the steps that come before or
// after them. Which method a run takes depends on its addresses alone.

#include <cstdint>
#include <memory>
#include <string>

#include "ops/plan/plan.hpp"
#include "ops/rows/rows_methods.hpp"
#include "ops/rows/rows_problem.hpp"
#include "ops/rows/rows_setup.hpp"
#include "ops/rows/rows_steps.hpp"

namespace tw {

class RowsPlan final : public Plan {
 public:
  /// `op` is gather or scatter.
  static Status create(const std::shared_ptr<Device>& device, Op op, const RowsDesc& desc,
                       std::unique_ptr<Plan>* out);
  /// What create() checks before it looks for kernels, of a description that allows all methods.
  static Status check(const Device& device, Op op, const RowsDesc& desc);
  Status run(Stream& stream, const RowsRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  RowsPlan(std::shared_ptr<Device> device, Op op, const RowsProblem& problem)
      : Plan(std::move(device), op), setup_(*this->device(), op, problem) {}
  const RowsProblem& problem() const { return setup_.problem; }
  Status prepare();
  /// The best of the prepared methods that serves whole operands at these addresses; 0: none does.
  uint32_t choose(uint64_t table, uint64_t packed) const;
  Status check_run(const RowsRun& run, int64_t count) const;
  RowsArgs run_args(const RowsRun& run, int64_t count) const;

  std::string explain_methods() const;
  std::string explain_four(uint64_t table, uint64_t packed) const;
  std::string explain_steps() const;

  RowsSetup setup_;
  RowsWorkspace workspace_;
  uint32_t methods_[rows::kMaxMethods] = {};  // prepared ones, best first
};

}  // namespace tw
