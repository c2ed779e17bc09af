// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that no tensor map can read, copied to where one can: what a description's `realign`
// asks for. The copies take a pass over the operands and a workspace of the run's; multiplying
// elements read one by one takes many times longer.

#include <memory>

#include "kernels/gemm/arguments/gemm_realign.h"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The problem as kernels that go through maps get it: with `realign`, pitches that no map can have
/// are those of copies. Others read operands where they lie.
GemmProblem gemm_served(const GemmProblem& problem);

/// Immutable after create().
class GemmRealign {
 public:
  /// `out` stays empty where no operand can need a copy.
  static Status create(const std::shared_ptr<Device>& device, const GemmProblem& problem,
                       std::unique_ptr<GemmRealign>* out);

  /// What create() checks before it looks for kernels.
  static Status check(const Device& device, const GemmProblem& problem);

  uint64_t workspace_bytes() const { return bytes_; }
  /// Copies what maps cannot read, and points the run there; `copied` says which of the caller's
  /// operands that were, as kGemmEarly bits.
  Status apply(Stream& stream, GemmRun* run, u32* copied) const;

 private:
  struct Copy {
    bool wanted = false;  // else the operand is certain to suit maps
    bool always = false;  // its pitch does not, wherever it lies
    uint64_t offset = 0;  // in the workspace
    // What the kernel in front is told, but for addresses; and a plan, where there is none of those
    // or too much for one.
    GemmRealignOperand lines{};
    std::unique_ptr<Plan> plan;
  };
  Status arrange(const Device& device, const GemmProblem& problem);
  Status launch(Stream& stream, GemmRealignArgs args) const;
  Copy a_, b_;             // of the caller's operands
  bool alone_ = false;     // one kernel copies both; else they have plans
  PreparedKernel kernel_;  // that one
  uint32_t most_blocks_ = 1;
  uint64_t bytes_ = 0;
};

}  // namespace tw
