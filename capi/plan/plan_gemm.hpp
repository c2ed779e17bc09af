// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of descriptions, arguments and candidates of matrix products from and to the C
// structs.

#include <vector>

#include "capi/plan/plan_handle.hpp"
#include "ops/gemm/gemm.hpp"

namespace tw::capi {

Status read_gemm_desc(const tw_gemm_desc* desc, GemmDesc* out);
Status read_gemm_args(const tw_gemm_args* args, GemmRun* out);
/// The public form of a candidate. Its struct_size and struct_mark stay 0: write_candidates() keeps
/// those of the caller's structs.
tw_gemm_candidate public_candidate(const GemmRange& range);

/// Refuses an invalid array of candidates.
Status check_capacity(const void* candidates, int32_t capacity);

/// Writes at most `capacity` candidates; on failure it writes none. The distance between elements
/// is the size of the caller's struct.
Status write_candidates(const std::vector<tw_gemm_candidate>& values, tw_gemm_candidate* out,
                        int32_t capacity);

}  // namespace tw::capi
