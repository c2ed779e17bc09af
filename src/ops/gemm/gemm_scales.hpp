// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of narrow operands, and of a D that a run quantizes: checks of a run, and the arguments of
// kernels for narrow types.

#include "kernels/gemm/arguments/gemm_scales.h"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/gemm/problem/gemm_problem.hpp"

namespace tw {

/// Refuses what a run gives that the description has no scales for, and a product that D's type
/// cannot hold.
Status check_scales_excluded(const GemmDesc& own, const GemmRun& run);

/// Checks the addresses of the scales for a run of m rows, and adds their spans. `own` is the
/// caller's description.
Status add_scales(const GemmDesc& own, const GemmRun& run, int64_t m, GemmSpans* spans);

/// Fills in the kernel's scale arguments; `seen` is the problem as the kernel sees it.
void fill_scales(const GemmProblem& seen, const GemmRun& run, GemmScales* scales);

}  // namespace tw
