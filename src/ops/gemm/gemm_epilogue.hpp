// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogue options: checks of a run, and arguments for epilogue kernels.

#include "kernels/gemm/arguments/gemm_full.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Fails if a run gives an argument for an option that the caller's description does not have.
Status check_epilogue_excluded(const GemmDesc& caller, const GemmRun& run);

/// Checks the addresses of bias, d_factor and amax for a run of m rows, and adds their spans.
Status add_epilogue(const GemmDesc& caller, const GemmRun& run, int64_t m, GemmSpans* spans);

/// Fills in the arguments that follow from the problem as the kernel sees it.
void fill_epilogue(const GemmProblem& kernel_problem, GemmEpilogueArgs* args);

}  // namespace tw
