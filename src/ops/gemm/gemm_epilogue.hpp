// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogues between a description, its runs and the full rows.

#include "kernels/gemm/arguments/gemm_full.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Refuses what a run gives for a part of the epilogue that the description does not have.
Status check_epilogue_excluded(const GemmDesc& own, const GemmRun& run);

/// Refuses a run of m rows whose vectors cannot be what the description says, and notes where they
/// lie. `own` is the caller's description.
Status add_epilogue(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans);

/// What of the arguments follows from a problem as the row sees it.
void fill_epilogue(const GemmProblem& seen, GemmFullArgs* args);

}  // namespace tw
