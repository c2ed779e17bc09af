// SPDX-License-Identifier: Apache-2.0
#pragma once
// Descriptions, runs and candidates of matrix products between the header and the library.

#include "capi/plan/plan_handle.hpp"
#include "ops/gemm/gemm.hpp"

namespace tw::capi {

Status read_gemm_desc(const tw_gemm_desc* desc, GemmDesc* out);
Status read_gemm_args(const tw_gemm_args* args, GemmRun* out);
/// All but struct_size.
tw_gemm_candidate public_candidate(const GemmRange& range);

}  // namespace tw::capi
