// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison, choice, moves and conversions.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run convert_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
