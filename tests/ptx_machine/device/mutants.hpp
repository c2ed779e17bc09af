// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mutants of kernels: the machine skips one wait or fence.

#include <vector>

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// Indices of the image's instructions that wait for something or are a fence.
std::vector<uint32_t> waits_and_fences(const Image& image);

/// Disables an instruction: a wait succeeds at once.
void leave_out(Image* image, uint32_t instruction);

/// Begins to record in Image::executed which of waits_and_fences() are executed.
void record_waits(Image* image);

}  // namespace tw::ptx_machine
