// SPDX-License-Identifier: Apache-2.0
#pragma once
// A batch by arrays of addresses: the kernel in front of the product, and its part of the
// workspace.

#include <memory>

#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/arguments/gemm_pointers.h"
#include "ops/gemm/problem/gemm_problem.hpp"
#include "ops/plan/plan.hpp"

namespace tw {

/// Of the workspace that a description's runs need for their addresses.
uint64_t gemm_pointers_bytes(const GemmDesc& desc);

/// Immutable after create().
class GemmPointers {
 public:
  /// For a product that goes through maps or does not; `seen` is the problem as its row sees it.
  static Status create(Device& device, const GemmProblem& seen, bool through_maps,
                       std::unique_ptr<GemmPointers>* out);

  /// Reads a run's arrays into its workspace, and points the product's arguments, complete but for
  /// addresses, there.
  Status launch(Stream& stream, const GemmRun& run, GemmFullArgs* args) const;

 private:
  GemmPointers(const GemmProblem& seen, bool through_maps)
      : problem_(seen), through_maps_(through_maps) {}

  Status check_arrays(Stream& stream, const GemmPointersArgs& args) const;

  GemmProblem problem_;
  bool through_maps_;
  PreparedKernel prepared_;
};

}  // namespace tw
