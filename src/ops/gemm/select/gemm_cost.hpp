// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost model predicts the nanoseconds that a choice takes for a problem.

#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

/// The parameters of gemm_model.inc, which are the same for all chips.
struct GemmModel {
#define TW_GEMM_FITTED(name, value) double name = value;
#define TW_GEMM_GIVEN(name, value) double name = value;
#include "ops/gemm/select/gemm_model.inc"
#undef TW_GEMM_GIVEN
#undef TW_GEMM_FITTED
};

/// `kernel_problem` is the problem as the choice's kernel sees it, see gemm_kernel_view().
GemmTerms gemm_terms(const GemmChoice& choice, const GemmProblem& kernel_problem,
                     const GemmChip& chip, const GemmModel& model = {});

}  // namespace tw
