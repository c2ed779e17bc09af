// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batches whose matrices are given by arrays of addresses (TW_GEMM_BATCH_POINTERS). A kernel that
// runs before the product reads the arrays, and writes addresses and tensor maps for each product
// into the workspace.

#include <memory>

#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/arguments/gemm_pointers.h"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// Workspace bytes for the addresses and maps of a description; 0 without TW_GEMM_BATCH_POINTERS.
uint64_t gemm_pointers_bytes(const GemmDesc& desc);

/// Immutable after create().
class GemmPointers {
 public:
  /// `kernel_problem` is the problem as the product's kernel sees it; `uses_maps` says whether that
  /// kernel uses maps.
  static Status create(Device& device, const GemmProblem& kernel_problem, bool uses_maps,
                       std::unique_ptr<GemmPointers>* out);

  /// Launches the kernel that reads a run's arrays into its workspace, and sets the workspace's
  /// addresses in `args`, which are otherwise complete.
  Status launch(Stream& stream, const GemmRun& run, GemmEpilogueArgs* args) const;

 private:
  GemmPointers(const GemmProblem& kernel_problem, bool uses_maps)
      : problem_(kernel_problem), uses_maps_(uses_maps) {}

  Status check_arrays(Stream& stream, const GemmPointersArgs& args) const;

  GemmProblem problem_;
  bool uses_maps_;
  PreparedKernel prepared_;
};

}  // namespace tw
