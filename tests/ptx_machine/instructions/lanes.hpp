// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shuffles, votes and matches among the lanes of a warp.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run lanes_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
