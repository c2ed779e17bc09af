// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measured choice: candidates timed on the caller's stream with the caller's operands.

#include "ops/gemm/gemm.hpp"
#include "ops/gemm/select/gemm_tuning.hpp"

namespace tw {

/// As tw_gemm_tune_desc.
struct GemmTuneDesc {
  int32_t candidates = 12;  // how many of the ranking are tried; 0: all
  int32_t rounds = 7;       // times that each is measured
  uint64_t scratch_d = 0;   // written in the place of D
  uint64_t flush = 0;  // read before each measured run, so that it finds the L2 without operands
  uint64_t flush_bytes = 0;
};

/// Times candidates for one run; the choices of `known` are tried too. Synchronises the stream.
/// `out` gets the entry of the fastest, which is the caller's to add.
Status tune_gemm(const std::shared_ptr<Device>& device, Stream& stream, const GemmDesc& desc,
                 const GemmRun& run, const GemmTuneDesc& how, const GemmTuning& known,
                 GemmTuned* out);

}  // namespace tw
