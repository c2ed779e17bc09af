// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogue options: checks of a run, and the arguments of epilogue kernels.

#include "kernels/gemm/arguments/gemm_full.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Fails if a run gives an argument for an option that the description does not have.
Status check_epilogue_excluded(const GemmDesc& own, const GemmRun& run);

/// Checks the addresses of bias, scale and amax for a run of m rows, and adds their spans. `own` is
/// the caller's description.
Status add_epilogue(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans);

/// Fills in the arguments that follow from the problem as the kernel sees it.
void fill_epilogue(const GemmProblem& seen, GemmEpilogueArgs* args);

}  // namespace tw
