// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions, runs and candidates of matrix products between the header and the library.

#include <vector>

#include "capi/plan/plan_handle.hpp"
#include "ops/gemm/gemm.hpp"

namespace tw::capi {

Status read_gemm_desc(const tw_gemm_desc* desc, GemmDesc* out);
Status read_gemm_args(const tw_gemm_args* args, GemmRun* out);
/// All but struct_size.
tw_gemm_candidate public_candidate(const GemmRange& range);

/// Whether a caller's array of candidates can be.
Status check_capacity(const void* candidates, int32_t capacity);

/// Writes as many as there is room for, or nothing where it fails; elements lie as far apart as the
/// caller's struct is long.
Status write_candidates(const std::vector<tw_gemm_candidate>& values, tw_gemm_candidate* out,
                        int32_t capacity);

}  // namespace tw::capi
