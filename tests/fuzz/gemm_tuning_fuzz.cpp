// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as tuning entries: it is accepted, or refused with the line at fault.
// Accepted entries must survive a round trip through text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ops/gemm/select/gemm_tuning.hpp"

using namespace tw;

namespace {

void check(const std::string& text) {
  GemmTuning tuning;
  if (!tuning.load(text).ok()) {
    if (last_failure().fault.index < 1 || tuning.format() != GemmTuning().format()) std::abort();
    return;
  }
  const std::string written = tuning.format();
  GemmTuning again;
  if (!again.load(written).ok() || again.format() != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  // After a valid header the parser reads further.
  check("tilewright gemm tuning 1\ndevice any\n" + text);
  check("tilewright gemm tuning 1\ndevice any\nbf16 bf16 f32 rcr 132 " + text);
  GemmChoice choice;
  if (parse_gemm_choice("candidate", text.c_str(), &choice).ok() &&
      gemm_choice_text(choice) != text.c_str())
    std::abort();
  return 0;
}
