// SPDX-License-Identifier: Apache-2.0
#pragma once
// Staging copies (TW_GEMM_STAGING_COPY): copy operands that no tensor map can read into the run's
// workspace, where one can. A pass over the operands costs far less than a product by a kernel
// without maps, which reads them element by element.

#include <memory>

#include "kernels/gemm/arguments/gemm_realign.h"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// The problem as TMA kernels see it. With `realign`, pitches that no map can have are replaced by
/// those of the copies. Kernels without maps read the caller's operands.
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
  /// Launches the copies that this run needs, and sets their addresses in `run`. `copied` gets the
  /// kGemmEarly bits of the caller's operands for which the product must wait.
  Status apply(Stream& stream, GemmRun* run, u32* copied) const;

 private:
  struct Copy {
    bool wanted = false;  // false: the operand always suits maps
    bool always = false;  // its pitch never suits maps; otherwise the address decides
    uint64_t offset = 0;  // bytes into the workspace
    // The copy kernel's arguments without addresses, or a copy plan if that kernel cannot be used.
    GemmRealignOperand lines{};
    std::unique_ptr<Plan> plan;
  };
  Status arrange(const Device& device, const GemmProblem& problem);
  Status launch(Stream& stream, GemmRealignArgs args) const;
  Copy a_, b_;          // of the caller's A and B
  bool alone_ = false;  // kernel_ copies both operands; otherwise each has a plan
  PreparedKernel kernel_;
  uint32_t most_blocks_ = 1;
  uint64_t bytes_ = 0;
};

}  // namespace tw
