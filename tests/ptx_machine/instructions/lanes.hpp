// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handlers of warp-level instructions: shuffles, votes, matches, reductions.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

Run lanes_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
