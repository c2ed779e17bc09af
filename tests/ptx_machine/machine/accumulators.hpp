// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the rules of wgmma's accumulator registers: threads must not touch them until
// wgmma.wait_group, and a wgmma.fence must follow a touch before the next wgmma.

#include "tests/ptx_machine/machine/launch.hpp"

namespace tw::ptx_machine {

/// Wraps the image's instructions that touch accumulators in a check, which needs a judge to act.
void watch_accumulators(Image* image);

/// A wgmma begins. Numbers increase from one to the next.
void accumulators_begin(Warp& warp, const Instruction& wgmma, uint64_t number);
void accumulators_fence(Warp& warp);
/// The warp has waited for every wgmma up to this number.
void accumulators_end(Warp& warp, uint64_t number);

}  // namespace tw::ptx_machine
