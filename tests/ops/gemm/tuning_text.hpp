// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds tuning texts and reports which kernel a plan chooses with them.

#include <string>

#include "ops/gemm/select/gemm_tuning.hpp"
#include "tests/ops/common/paper_device.hpp"

namespace tw::test {

inline std::string choice_text(uint32_t schedule = 0) {
  return gemm_symbol(128, 128, 1, schedule) + (schedule & kGemmSplit ? "/4" : "");
}

inline std::string text_of(const std::string& lines) {
  return "tilewright gemm tuning 1\ndevice paper\n" + lines;
}

/// A tuning entry for gemm_desc()'s types and orders on 132 SMs.
inline std::string entry(int64_t m, int64_t n, int64_t k, const std::string& choice) {
  return "bf16 bf16 f32 rcr 132 " + std::to_string(m) + " " + std::to_string(n) + " " +
         std::to_string(k) + " " + choice + " 12.500\n";
}

inline std::string kernel_of(const std::shared_ptr<PaperDevice>& device, const GemmDesc& desc,
                             const GemmTuning& tuning) {
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &tuning, &plan).ok());
  return gemm_choice_text(static_cast<GemmPlan&>(*plan).kernel_for(desc.m).choice());
}

}  // namespace tw::test
