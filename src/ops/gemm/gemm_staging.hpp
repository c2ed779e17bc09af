// SPDX-License-Identifier: Apache-2.0
#pragma once
// Staging copies (TW_GEMM_STAGING_COPY): before the product, operands that no tensor map can read
// are copied into the run's workspace in a form that one can read. A pass over the operands takes
// far less time than a product by a kernel without maps, which reads them element by element.

#include <memory>

#include "kernels/gemm/arguments/gemm_realign.h"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The problem for TMA kernels. With staging copies, it has the pitches and orders of the copies
/// where no map can have the caller's. Kernels without maps read the caller's operands.
GemmProblem gemm_with_staging(const GemmProblem& problem);

/// Immutable after create().
class GemmStagingCopies {
 public:
  /// `out` stays empty if no operand can need a copy.
  static Status create(const std::shared_ptr<Device>& device, const GemmProblem& problem,
                       std::unique_ptr<GemmStagingCopies>* out);

  /// The checks of create() that need no kernels.
  static Status check(const Device& device, const GemmProblem& problem);

  uint64_t workspace_bytes() const { return bytes_; }
  /// Launches the copies that this run needs, and replaces the operands' addresses in `run` by
  /// theirs. `staged_operands` gets the kGemmOperand bits of the caller's operands that the product
  /// must not load early.
  Status apply(Stream& stream, GemmRun* run, u32* staged_operands) const;

 private:
  struct Copy {
    bool possible = false;       // some runs may need the copy
    bool always_needed = false;  // every run needs it; otherwise the run's address decides
    uint64_t offset = 0;         // bytes into the workspace
    // The copy kernel's arguments without addresses, or a copy plan if that kernel cannot be used.
    GemmStagingOperand kernel_args{};
    std::unique_ptr<Plan> plan;
  };
  Status decide(const Device& device, const GemmProblem& problem);
  Status launch(Stream& stream, GemmStagingArgs args) const;
  Copy a_, b_;               // of the caller's A and B
  bool one_launch_ = false;  // whether kernel_ copies both operands; otherwise each has a copy plan
  PreparedKernel kernel_;
  uint32_t max_blocks_ = 1;
  uint64_t bytes_ = 0;
};

}  // namespace tw
