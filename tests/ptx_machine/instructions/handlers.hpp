// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the handler of an instruction. Each kind of instructions has a function *_handler(), which
// returns nullptr for other instructions.

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// Returns nullptr if the machine has no handler.
Run find_handler(const Instruction& instruction);

}  // namespace tw::ptx_machine
