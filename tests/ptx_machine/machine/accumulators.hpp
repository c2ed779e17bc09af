// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registers that wgmma adds into: nobody may touch them until it has been waited for, and a
// wgmma.fence is between whoever has touched them and the next wgmma.

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

/// Has the instructions of the image that touch such registers ask first, where there is a judge.
void watch_accumulators(Image* image);

/// A product begins, whose number is above those before it.
void accumulators_begin(Warp& warp, const Instruction& wgmma, uint64_t number);
void accumulators_fence(Warp& warp);
/// Products up to this one have been waited for.
void accumulators_end(Warp& warp, uint64_t number);

}  // namespace tw::ptx_machine
