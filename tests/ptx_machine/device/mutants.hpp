// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults that the machine plants in a program: a wait or a fence that is left out.

#include <vector>

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// The numbers of the instructions of an image that wait for something or are a fence.
std::vector<uint32_t> waits_and_fences(const Image& image);

/// From here on the instruction does nothing; what it would have waited for counts as there.
void leave_out(Image* image, uint32_t instruction);

/// From here on Image::executed tells which of waits_and_fences() were executed.
void record_waits(Image* image);

}  // namespace tw::ptx_machine
