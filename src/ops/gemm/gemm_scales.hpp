// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of narrow operands, and of a D that a run quantises, between a description, its runs and
// the kernels.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Refuses what a run gives that the description has no scales for, and a product that D's type
/// cannot hold.
Status check_scales_excluded(const GemmDesc& own, const GemmRun& run);

/// Refuses a run of m rows whose scales cannot be what the description says, and notes where they
/// lie. `own` is the caller's description.
Status add_scales(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans);

/// What kernels are told: `seen` is the problem as the row sees it.
void fill_scales(const GemmProblem& seen, const GemmRun& run, GemmScales* scales);

}  // namespace tw
