// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogues between a description, its runs and the full rows.

#include "kernels/gemm/gemm_full.h"
#include "ops/gemm_problem.hpp"
#include "ops/plan.hpp"

namespace tw {

/// Refuses a run of m rows whose vectors cannot be what the description says, or lie in what the
/// run writes, which is called `name`. `own` is the caller's description.
Status check_epilogue(const GemmDesc& own, const GemmRun& run, int64_t m, const char* name,
                      uint64_t written, uint64_t written_bytes);

/// What of the arguments follows from a problem as the row sees it.
void fill_epilogue(const GemmProblem& seen, GemmFullArgs* args);

}  // namespace tw
