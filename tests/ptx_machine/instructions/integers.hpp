// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers and bits.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// nullptr where the instruction is none of these.
Run integer_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
