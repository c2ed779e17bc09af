// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tuning: times candidates on the caller's stream with the caller's operands.

#include "ops/gemm/gemm.hpp"
#include "ops/gemm/select/gemm_tuning.hpp"

namespace tw {

struct GemmTuneDesc {
  int32_t candidates = 12;  // how many of the best-ranked candidates to try; 0: all
  int32_t rounds = 7;       // measurements per candidate
  uint64_t scratch_d = 0;   // address that runs write instead of D; 0: they write D
  uint64_t flush = 0;       // memory read before each measured run, to evict operands from the L2
  uint64_t flush_bytes = 0;
};

/// Times the best-ranked candidates for one run. The ranking uses the entries of `known`.
/// Synchronizes the stream. `out` gets the fastest candidate as an entry, which the caller may add
/// to a GemmTuning.
Status tune_gemm(const std::shared_ptr<Device>& device, Stream& stream, const GemmDesc& desc,
                 const GemmRun& run, const GemmTuneDesc& how, const GemmTuning& known,
                 GemmTuningEntry* out);

}  // namespace tw
