// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans for gather and scatter of rows. One class serves both, because they differ only in which
// operand is read.
//
// A plan holds the methods that its runs may need, best first, and the steps before or after them.
// A run selects its method by its addresses alone.

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
  /// The checks of create() that need no kernels. Ignores RowsDesc::methods, which only tests set.
  static Status check(const Device& device, Op op, const RowsDesc& desc);
  Status run(Stream& stream, const RowsRun& run) const;
  PlanInfo info() const override;
  std::string explain() const override;

 private:
  RowsPlan(std::shared_ptr<Device> device, Op op, const RowsProblem& problem)
      : Plan(std::move(device), op), setup_(*this->device(), op, problem) {}
  const RowsProblem& problem() const { return setup_.problem; }
  Status prepare();
  /// Returns the best prepared method for whole operands at these addresses; 0 if there is none.
  uint32_t choose(uint64_t table, uint64_t packed) const;
  Status check_run(const RowsRun& run, int64_t count) const;
  RowsArgs run_args(const RowsRun& run, int64_t count) const;

  std::string explain_methods() const;
  std::string explain_four(uint64_t table, uint64_t packed) const;
  std::string explain_steps() const;

  RowsSetup setup_;
  RowsWorkspace workspace_;
  uint32_t methods_[rows::kMaxMethods] = {};  // prepared methods, best first
};

}  // namespace tw
